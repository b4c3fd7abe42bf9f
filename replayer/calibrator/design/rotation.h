#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replayer/calibrator/design/area.h"

namespace understudy::calibrator {

/// What became of an area's calls.
struct AreaCounts {
  std::string name;
  std::string op_class;
  std::size_t timed = 0;
  std::size_t refused = 0;
  double spent_s = 0;
};

/// Hands out the different calls of areas, one at a time: always of the area on which the least
/// time was spent for its weight. An area ends with its last call, or if its first ones all failed.
class Rotation {
 public:
  explicit Rotation(std::vector<Area> areas);

  /// Returns the next call; nothing if all areas have ended.
  [[nodiscard]] std::optional<Call> next();
  /// Says what became of that call.
  void add(bool is_timed, double spent_s);

  /// In the order of the areas.
  [[nodiscard]] std::vector<AreaCounts> counts() const;

 private:
  struct State {
    Area area;
    AreaCounts counts;
    std::set<std::string> seen = {};
    std::uint64_t next = 0;
    bool has_ended = false;
  };
  [[nodiscard]] State* least_served();

  std::vector<State> states_;
  State* current_ = nullptr;
};

}  // namespace understudy::calibrator
