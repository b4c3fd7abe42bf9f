#include "predictor/simulate/job.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "generator/matching/matching.h"

namespace understudy::predictor {
namespace {

void share_equal_programs(const et_schema::Bench& bench, Job& job) {
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    job.own_groups.push_back(bench.programs.groups(rank));
    auto found = std::ranges::find(job.programs, &program);
    if (found == job.programs.end()) {
      found = std::ranges::find_if(job.programs, [&](const Program* known) {
        return known->instructions.size() == program.instructions.size() && *known == program;
      });
    }
    job.program_of.push_back(static_cast<std::uint32_t>(found - job.programs.begin()));
    if (found == job.programs.end()) {
      job.programs.push_back(&program);
    }
  }
}

}  // namespace

std::vector<int> Job::members_of(et_schema::GroupId group) const {
  const std::vector<std::int64_t>& ranks = groups[group].ranks;
  std::vector<int> members(ranks.begin(), ranks.end());
  if (members.empty()) {
    const auto size = is_partial ? groups[group].size : world_size();
    members.resize(static_cast<std::size_t>(std::max<std::int64_t>(size, 1)));
    std::iota(members.begin(), members.end(), 0);
  }
  return members;
}

int Job::nodes_of(std::vector<int> ranks) const {
  for (int& rank : ranks) {
    rank /= std::max(ranks_per_node, 1);
  }
  std::ranges::sort(ranks);
  return static_cast<int>(std::ranges::unique(ranks).begin() - ranks.begin());
}

Job job_of(const et_schema::Bench& bench) {
  Job job;
  job.groups = bench.groups;
  job.is_partial = bench.partial.has_value();
  share_equal_programs(bench, job);
  if (job.is_partial || bench.world_size() == 1) {
    return job;
  }
  for (et_schema::CommOrder& order : matching::match_programs(bench.programs, bench.groups)) {
    job.kept_apart.push_back(std::move(order.kept_apart));
  }
  return job;
}

}  // namespace understudy::predictor
