#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// A part of the recorded device time of a step (docs/metrics.md, "Device time").
struct DeviceTime {
  std::string kernel_class;  ///< kernel_class(); "not told" where a benchmark does not say
  std::string fate;          ///< what it is in the benchmark, or became in a replay
  double ms = 0;
  double share = 0;  ///< of the step's device time
  bool operator==(const DeviceTime&) const = default;
};

/// What an instruction is: "operator", "communication", "compiled kernel", "label without
/// operators".
[[nodiscard]] std::string_view kind_text(const Instruction& instruction);

/// All of it, the longest first; shares add up to 1. The fate of instructions is told by
/// `fate_of`; that of other time is the reason for which it stands in none, to_string(Outside).
/// Nothing without a profile that shows device events.
[[nodiscard]] std::vector<DeviceTime> device_times(
    const Program& program, const std::function<std::string(const Instruction&)>& fate_of);

/// The sums over programs or ranks.
[[nodiscard]] std::vector<DeviceTime> sum_of(const std::vector<std::vector<DeviceTime>>& parts);

}  // namespace understudy::et_schema
