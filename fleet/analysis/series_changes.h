#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fleet/records/events.h"
#include "fleet/records/results.h"

namespace understudy::fleet {

/// A change of level in the series of one benchmark on one platform.
struct SeriesChange {
  std::size_t index = 0;  ///< first result of the new level
  double before_ms = 0;
  double after_ms = 0;
  std::string text = {};  ///< classes and operators that changed; empty: unknown
  std::vector<std::string> environment = {};  ///< fields that changed too: "torch 2.10 → 2.11"
  bool is_recovery = false;                   ///< back at the level before it became slower
};

/// Returns the changes in `results`, the oldest first. The texts come from the `events` of this
/// series, which the night of the change or a later night reported.
[[nodiscard]] std::vector<SeriesChange> series_changes(const std::vector<Event>& events,
                                                       const std::vector<Result>& results);

/// Relation of the newest result to the level before the last change. A change that is over no
/// longer counts, whether or not a night reported its end.
enum class SinceChange {
  kSlower,
  kFaster,
  kBackFromSlower,    ///< became slower, but is not any more
  kBackFromFaster,    ///< became faster, but is not any more
  kRecovered,         ///< as fast as before it became slower
  kBackFromRecovery,  ///< recovered, but is slower again
};
[[nodiscard]] SinceChange since_change(const SeriesChange& change, double newest_ms);

}  // namespace understudy::fleet
