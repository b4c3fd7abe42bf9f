#include "et_schema/model/original_step.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "et_schema/base/map_values.h"

namespace understudy::et_schema {

OriginalStep original_step(const Program& program,
                           const std::function<bool(const Instruction&)>& is_counted) {
  constexpr double kMsPerNs = 1e-6;
  OriginalStep original;
  if (!program.profile) {
    return original;
  }
  std::int64_t operators_ns = 0;
  for (const Instruction& instruction : program.instructions) {
    operators_ns += instruction.timing && is_counted(instruction) ? instruction.timing->host_ns : 0;
  }
  original.operators_ms = static_cast<double>(operators_ns) * kMsPerNs;
  original.step_ms = static_cast<double>(recorded_step_ns(program)) * kMsPerNs;
  if (program.profile->unprofiled_step_ns) {
    original.unprofiled_ms = static_cast<double>(*program.profile->unprofiled_step_ns) * kMsPerNs;
  }
  const std::map<std::string, Counters>& by_operator = program.profile->operator_counters;
  original.counters = program.profile->counters;
  if (std::ranges::none_of(by_operator, [](const auto& row) { return row.second.empty(); })) {
    original.counters.merge(combined(values_of(by_operator)));
  }
  return original;
}

void add_recorded_counters(const Program& program, std::vector<OperatorTime>& operators) {
  for (OperatorTime& row : operators) {
    if (program.profile && program.profile->operator_counters.contains(row.name)) {
      row.recorded_counters = program.profile->operator_counters.at(row.name);
    }
  }
}

}  // namespace understudy::et_schema
