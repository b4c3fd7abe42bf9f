#include "generator/chakra/chakra_job.h"

#include <fmt/format.h>

#include "chakra_comms.h"
#include "chakra_nodes.h"

namespace understudy::generator {

ChakraJob chakra_of(const et_schema::Bench& bench, const std::string& prefix) {
  ChakraJob job;
  job.comm_groups = comm_groups_json(bench);
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    job.files.push_back(chakra_of_rank(bench, rank));
    job.files.back().file = fmt::format("{}.{}.et", prefix, job.files.back().rank);
    for (const auto& [loss, count] : chakra_losses(bench.programs[rank])) {
      job.left_out[loss] += count;
    }
  }
  if (bench.groups.size() > 1) {
    job.left_out[ChakraLoss::kGroupNames] += bench.groups.size() - 1;
  }
  return job;
}

}  // namespace understudy::generator
