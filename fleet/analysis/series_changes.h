#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fleet/records/events.h"
#include "fleet/records/results.h"

namespace understudy::fleet {

/// Where a series of a benchmark on a platform turned.
struct SeriesChange {
  std::size_t index = 0;  ///< the first result that is another
  double before_ms = 0;
  double after_ms = 0;
  std::string text = {};  ///< classes and operators that moved; empty: not known
  std::vector<std::string> environment = {};  ///< fields that changed with it: "torch 2.10 → 2.11"
  bool is_recovery = false;                   ///< back at the level before it became slower
};

/// What changed `results`, the oldest first, in the words of the night that
/// told it or of the nights behind it: by those of `events` that are of this
/// series.
[[nodiscard]] std::vector<SeriesChange> series_changes(const std::vector<Event>& events,
                                                       const std::vector<Result>& results);

/// How the newest result stands to the level before the last change: a change
/// that has passed since, told by a night or not, is none any more.
enum class SinceChange {
  kSlower,
  kFaster,
  kBackFromSlower,    ///< told as a change to slower, which is over
  kBackFromFaster,    ///< likewise
  kRecovered,         ///< as fast as before it became slower
  kBackFromRecovery,  ///< as slow again
};
[[nodiscard]] SinceChange since_change(const SeriesChange& change, double newest_ms);

}  // namespace understudy::fleet
