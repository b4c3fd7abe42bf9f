#include "replayer/job/rank_gpus.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "replayer/device/device.h"

namespace understudy::replayer {

bool do_ranks_share_gpus(backends::Job& job, c10::Device device) {
  const std::vector<std::string> gpus =
      job.all_gather_text(fmt::format("{} {}", job.host(), device_pci_bus_id(device)));
  return std::set<std::string>(gpus.begin(), gpus.end()).size() < gpus.size();
}

}  // namespace understudy::replayer
