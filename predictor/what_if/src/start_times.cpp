#include <algorithm>
#include <optional>

#include "predictor/what_if/recorded_costs.h"

namespace understudy::predictor {
namespace {

/// Returns the end of the group's first collective that the profile shows, in the rank's own time.
std::optional<std::int64_t> first_end(const Program& program, et_schema::GroupId group) {
  std::optional<std::uint32_t> first;
  std::optional<std::int64_t> end_ns;
  for (const et_schema::DeviceWork& work : program.device_work) {
    const std::uint32_t at = work.instruction.value_or(0);
    if (work.instruction && program.instructions[at].kind == InstructionKind::kCollective &&
        program.instructions[at].comm->group == group && at <= first.value_or(at)) {
      const std::int64_t work_end_ns = work.launch_ns + work.lag_ns + work.device_ns;
      end_ns = at == first ? std::max(*end_ns, work_end_ns) : work_end_ns;
      first = at;
    }
  }
  return end_ns;
}

}  // namespace

std::vector<std::int64_t> recorded_start_times(const Job& job) {
  for (et_schema::GroupId group = 0; !job.is_partial && group < job.groups.size(); ++group) {
    if (job.members_of(group).size() != job.program_of.size()) {
      continue;
    }
    std::vector<std::int64_t> ends_ns;
    for (const Program* program : job.programs) {
      if (const auto end_ns = first_end(*program, group)) {
        ends_ns.push_back(*end_ns);
      }
    }
    if (ends_ns.size() == job.programs.size()) {
      const std::int64_t last_ns = std::ranges::max(ends_ns);
      std::vector<std::int64_t> starts_ns;
      for (const std::uint32_t program : job.program_of) {
        starts_ns.push_back(last_ns - ends_ns[program]);
      }
      return starts_ns;
    }
  }
  return {};
}

}  // namespace understudy::predictor
