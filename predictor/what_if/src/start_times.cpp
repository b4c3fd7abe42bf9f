#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "predictor/what_if/recorded_costs.h"

namespace understudy::predictor {
namespace {

using et_schema::GroupId;

/// By group: the first collective that a profile shows, and the end of its kernel.
using FirstEnds = std::map<GroupId, std::pair<std::uint32_t, std::int64_t>>;

FirstEnds first_ends(const Program& program) {
  FirstEnds ends_ns;
  for (const et_schema::DeviceWork& work : program.device_work) {
    const std::uint32_t at = work.instruction.value_or(0);
    if (work.instruction && program.instructions[at].kind == InstructionKind::kCollective) {
      const std::pair own(at, work.launch_ns + work.lag_ns + work.device_ns);
      auto& first = ends_ns.try_emplace(program.instructions[at].comm->group, own).first->second;
      first = at < first.first ? own : first;
    }
  }
  return ends_ns;
}

}  // namespace

std::vector<std::int64_t> recorded_start_times(const Job& job) {
  const auto ranks = static_cast<std::size_t>(job.world_size());
  std::vector<std::int64_t> result(ranks, 0);
  if (job.is_partial || ranks < 2) {
    return result;
  }
  std::vector<FirstEnds> ends_ns;
  for (const Program* program : job.programs) {
    ends_ns.push_back(first_ends(*program));
  }
  std::vector<std::optional<std::int64_t>> starts_ns(ranks);
  starts_ns[0] = 0;
  for (bool has_changed = true; std::exchange(has_changed, false);) {
    for (GroupId group = 0; group < job.groups.size(); ++group) {
      std::optional<std::int64_t> end_ns;  // in the first rank's time
      const std::vector<int> members = job.members_of(group);
      const auto own_end = [&](int rank) -> std::optional<std::int64_t> {
        const auto& ends = ends_ns[job.program_of[static_cast<std::size_t>(rank)]];
        const auto found = ends.find(group);
        return found == ends.end() ? std::nullopt : std::optional(found->second.second);
      };
      for (const int rank : members) {
        const auto& start_ns = starts_ns[static_cast<std::size_t>(rank)];
        if (!end_ns && start_ns && own_end(rank)) {
          end_ns = *start_ns + *own_end(rank);
        }
      }
      for (const int rank : members) {
        auto& start_ns = starts_ns[static_cast<std::size_t>(rank)];
        if (end_ns && !start_ns && own_end(rank)) {
          start_ns = *end_ns - *own_end(rank);
          has_changed = true;
        }
      }
    }
  }
  std::int64_t first_ns = 0;
  for (const auto& start_ns : starts_ns) {
    first_ns = std::min(first_ns, start_ns.value_or(0));
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    result[rank] = starts_ns[rank].value_or(0) - first_ns;
  }
  return result;
}

}  // namespace understudy::predictor
