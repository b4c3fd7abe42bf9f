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
/// None becomes less than 0.
void take_kernel_times(const KernelClassTimes& taken, KernelClassTimes& times);
/// Makes them add up to `ns`, but for rounding.
void scale_kernel_times(std::int64_t ns, KernelClassTimes& times);

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
