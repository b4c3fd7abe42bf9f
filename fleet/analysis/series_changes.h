#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/base/json_record.h"

namespace understudy::fleet {

/// What a night, or a later one, said of a series.
struct SeriesEvent {
  std::int64_t night = 0;
  std::string kind;      ///< "slower", "faster", "recovered" or "change point"
  std::string text;      ///< a sentence
  double before_ms = 0;  ///< levels of a change point
  double after_ms = 0;
};

void members(auto& json, et_schema::SameAs<SeriesEvent> auto& event) {
  json("night", event.night);
  json("kind", event.kind);
  json("text", event.text, et_schema::kFreeText);
  json("before_ms", event.before_ms);
  json("after_ms", event.after_ms);
}

/// A replay of the series.
struct SeriesNight {
  std::string night;  ///< its number; empty: of no night
  double median_ms = 0;
};

/// A change of level in the series of one benchmark on one platform.
struct SeriesChange {
  std::size_t index = 0;  ///< first result of the new level
  double before_ms = 0;
  double after_ms = 0;
  std::string text = {};  ///< classes and operators that changed; empty: unknown
  std::vector<std::string> environment = {};  ///< fields that changed too: "torch 2.10 → 2.11"
  bool is_recovery = false;                   ///< back at the level before it became slower
};

void members(auto& json, et_schema::SameAs<SeriesChange> auto& change) {
  json("index", change.index);
  json("before_ms", change.before_ms);
  json("after_ms", change.after_ms);
  json("text", change.text);
  json("environment", change.environment);
  json("is_recovery", change.is_recovery);
}

/// Returns the changes in `results`, the oldest first. The texts come from the `events` of this
/// series.
[[nodiscard]] std::vector<SeriesChange> series_changes(const std::vector<SeriesEvent>& events,
                                                       const std::vector<SeriesNight>& results);

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
