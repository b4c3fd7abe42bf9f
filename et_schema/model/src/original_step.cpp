#include "et_schema/model/original_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "et_schema/base/figures.h"
#include "et_schema/base/map_values.h"

namespace understudy::et_schema {

static constexpr double kMsPerNs = 1e-6;

double profiled_step_ms(const RecordedProfile& profile) {
  return static_cast<double>(profile.profiled_step_ns.value_or(recorded_step_ns(profile))) *
         kMsPerNs;
}

std::string disturbance_text(const std::optional<double>& profiled_ms,
                             const std::optional<double>& unprofiled_ms) {
  constexpr double kDisturbed = 1.25;
  if (!(profiled_ms.value_or(0) > 0) || !(unprofiled_ms.value_or(0) > 0)) {
    return {};
  }
  const double ratio = *profiled_ms / *unprofiled_ms;
  return std::max(ratio, 1 / ratio) <= kDisturbed
             ? std::string()
             : fmt::format("the profiler disturbed the step: {} ms, {:.3g} times the unprofiled {}",
                           figure_text(profiled_ms), ratio, figure_text(unprofiled_ms));
}

std::string disturbance_text(const Programs& programs) {
  OriginalStep slowest;
  for (const Program& program : programs) {
    const OriginalStep step = original_step(program, [](const Instruction&) { return false; });
    slowest = step.unprofiled_ms > slowest.unprofiled_ms ? step : slowest;
  }
  return disturbance_text(slowest.step_ms, slowest.unprofiled_ms);
}

OriginalStep original_step(const Program& program,
                           const std::function<bool(const Instruction&)>& is_counted) {
  OriginalStep original;
  if (!program.profile) {
    return original;
  }
  std::int64_t operators_ns = 0;
  for (const Instruction& instruction : program.instructions) {
    operators_ns += instruction.timing && is_counted(instruction) ? instruction.timing->host_ns : 0;
  }
  original.operators_ms = static_cast<double>(operators_ns) * kMsPerNs;
  original.step_ms = profiled_step_ms(*program.profile);
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

std::string device_doubts(const Programs& programs, std::size_t rank) {
  std::string text;
  const auto& profile = programs[rank].profile;
  for (std::size_t i = 0; profile && i < profile->lost.size(); ++i) {
    text += profile->lost[i].name.empty() ? profile->lost[i].reason + " " : "";
  }
  return text.empty() || programs.size() == 1 ? text : fmt::format("Rank {}: {}", rank, text);
}

void add_recorded_counters(const Program& program, std::vector<OperatorTime>& operators) {
  for (OperatorTime& row : operators) {
    if (program.profile && program.profile->operator_counters.contains(row.name)) {
      row.recorded_counters = program.profile->operator_counters.at(row.name);
    }
  }
}

}  // namespace understudy::et_schema
