#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/pages/document/table.h"

namespace understudy::pages {

struct TimelineEvent {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::size_t name = 0;  ///< place in Timeline::names
  std::size_t kind = 0;  ///< place in Timeline::kinds
};

/// What happens in one place one thing after the other: a thread, a stream, a rank's collectives.
/// Events may overlap.
struct TimelineLane {
  std::string group;  ///< "rank 0"; lanes of one group stand together
  std::string name;   ///< "thread 1", "stream 7", "communication"
  std::vector<TimelineEvent> events = {};
};

/// What ran when. The page draws lanes on a canvas: zoom and pan with mouse or keyboard, names and
/// times of single events, also read out.
struct Timeline {
  std::string id;  ///< no other of the page has it
  std::string caption;
  std::vector<std::string> names;  ///< of events, each once
  std::vector<std::string> kinds;  ///< what the colours mean: classes of operators
  std::vector<TimelineLane> lanes;
};

/// Events and busy time by lane, for paper and for whoever does not see the canvas.
[[nodiscard]] Table lanes_table(const Timeline& plot);

/// The nine kinds that take most time, the longest first, then `others` if there are more.
[[nodiscard]] std::vector<std::string> longest_kinds(const std::map<std::string, double>& times,
                                                     const char* others);
/// The place of a kind among these; the last one's if it has none of its own.
[[nodiscard]] std::size_t kind_number(const std::vector<std::string>& kinds,
                                      const std::string& kind);

/// Numbers texts in the order in which they come, each once: for names and kinds.
class TextNumbers {
 public:
  [[nodiscard]] std::size_t number_of(const std::string& text);
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace understudy::pages
