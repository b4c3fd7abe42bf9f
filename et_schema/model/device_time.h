#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/report.h"

namespace understudy::et_schema {

void add_kernel_time(std::string_view kernel_class, std::int64_t ns, KernelClassTimes& times);
void add_kernel_times(const KernelClassTimes& added, KernelClassTimes& times);
/// Subtracts times by class; none becomes negative.
void take_kernel_times(const KernelClassTimes& taken, KernelClassTimes& times);
/// Scales the times so that they add up to `ns`, except for rounding.
void scale_kernel_times(std::int64_t ns, KernelClassTimes& times);

/// Returns the instruction's kind in reports: "operator", "communication", "compiled kernel",
/// "label without operators".
[[nodiscard]] std::string_view kind_text(const Instruction& instruction);

/// Returns all recorded device time by kernel class and fate, longest first; shares add up to 1. An
/// instruction's fate is fate_of(instruction); that of time outside of instructions is
/// to_string(Outside). Empty without a profile that shows device events.
[[nodiscard]] std::vector<DeviceTime> device_times(
    const Program& program, const std::function<std::string(const Instruction&)>& fate_of);

/// Sums the lists of several programs or ranks by kernel class and fate.
[[nodiscard]] std::vector<DeviceTime> sum_of(const std::vector<std::vector<DeviceTime>>& parts);

}  // namespace understudy::et_schema
