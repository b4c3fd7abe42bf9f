#include "replayer/job/rank_gpus.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "et_schema/base/error.h"
#include "replayer/device/device.h"

namespace understudy::replayer {
namespace {

/// Returns the place "HOST ID" with the most ranks, and their number.
std::pair<std::string, int> most_crowded(backends::Job& job, const std::string& id) {
  std::map<std::string, int> ranks;
  std::pair<std::string, int> most;
  for (const std::string& place : job.all_gather_text(fmt::format("{} {}", job.host(), id))) {
    if (const int here = ++ranks[place]; here > most.second) {
      most = {place, here};
    }
  }
  return most;
}

}  // namespace

bool do_ranks_share_gpus(backends::Job& job, c10::Device device) {
  return most_crowded(job, device_pci_bus_id(device)).second > 1;
}

void refuse_shared_gpu(backends::Job& job, const std::string& asked, c10::Device device) {
  const std::string uuid = device_uuid(device);
  const auto [place, ranks] = most_crowded(job, uuid.empty() ? device_pci_bus_id(device) : uuid);
  if (asked != "cuda" || ranks < 2) {
    return;
  }
  const std::size_t space = place.find(' ');
  throw et_schema::usage_error(
      "the replay cannot run on cuda: ranks of a host have the same GPU",
      {.field = "--device",
       .expected = "a GPU for each rank, or a single one that is visible to each",
       .got = fmt::format("{} ranks on {} of {}", ranks, place.substr(space + 1),
                          place.substr(0, space)),
       .hint = "Start as many ranks a host as it has GPUs, or name the GPU that they share: "
               "--device cuda:0."});
}

}  // namespace understudy::replayer
