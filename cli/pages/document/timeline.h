#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace understudy::pages {

struct TimelineEvent {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::size_t name = 0;  ///< index in Timeline::names
  std::size_t kind = 0;  ///< index in Timeline::kinds
};

/// Events of one thread, one stream, or a rank's collectives, in order. Events may overlap.
struct TimelineLane {
  std::string group;  ///< "rank 0"; lanes of one group are adjacent
  std::string name;   ///< "thread 1", "stream 7", "communication"
  std::vector<TimelineEvent> events = {};
};

/// A timeline of events. The page draws lanes on a canvas with zoom and pan by mouse or keyboard;
/// names and times of single events are also read out.
struct Timeline {
  std::string id;  ///< unique within the page
  std::string caption;
  std::vector<std::string> names;  ///< names of events, without duplicates
  std::vector<std::string> kinds;  ///< meaning of the colours: classes of operators
  std::vector<TimelineLane> lanes;
};

/// Returns the nine kinds with the most time, longest first, then `others` if there are more.
[[nodiscard]] std::vector<std::string> longest_kinds(const std::map<std::string, double>& times,
                                                     const char* others);
/// Returns the index of a kind; the last index if the kind is not listed.
[[nodiscard]] std::size_t kind_number(const std::vector<std::string>& kinds,
                                      const std::string& kind);

/// Numbers distinct texts by first occurrence: for names and kinds.
class TextNumbers {
 public:
  [[nodiscard]] std::size_t number_of(const std::string& text);
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace understudy::pages
