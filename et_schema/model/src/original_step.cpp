#include "et_schema/model/original_step.h"

#include <cstdint>

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
  return original;
}

}  // namespace understudy::et_schema
