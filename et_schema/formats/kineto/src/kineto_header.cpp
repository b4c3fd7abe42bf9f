#include "kineto_header.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"
#include "et_schema/formats/json_trace/escaped_name.h"
#include "et_schema/formats/kineto/integers.h"
#include "et_schema/formats/pytorch_et/told_by_calls.h"
#include "et_schema/model/comm_traits.h"

namespace understudy::et_schema {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::element;

constexpr std::int64_t kMaxListed = 1 << 20;  // ranks of a job

std::string text_at(element object, const char* key, Losses& losses) {
  std::string_view text;
  const bool is_text = object[key].get_string().get(text) == SUCCESS;
  return is_text ? escaped_name(text, losses) : std::string();
}

std::int64_t number_at(element object, const char* key, std::int64_t otherwise) {
  std::int64_t number = 0;
  return object[key].get_int64().get(number) == SUCCESS ? number : otherwise;
}

/// Returns the objects of a list; none of anything else.
std::vector<element> objects_of(simdjson::simdjson_result<element> list) {
  std::vector<element> objects;
  simdjson::dom::array entries;
  if (list.get_array().get(entries) == SUCCESS) {
    for (const element entry : entries) {
      if (entry.is_object()) {
        objects.push_back(entry);
      }
    }
  }
  return objects;
}

std::vector<std::int64_t> ranks_of(element group) {
  element list;
  if (group["ranks"].get(list) != SUCCESS) {
    return {};
  }
  const std::string text = simdjson::minify(list);
  std::vector<std::int64_t> ranks = integers_in(text);  // PyTorch's array, Kineto's quoted one
  if (std::ranges::any_of(ranks, [](std::int64_t rank) { return rank < 0; })) {
    throw bad_input("the process groups cannot be read",
                    {.field = "distributedInfo",
                     .expected = "ranks as a list of integers of 0 or more",
                     .got = quote(text)});
  }
  return ranks;
}

/// Returns the group of a call; without ranks if it is the world, or if they are not all known.
ProcessGroup group_of(const KinetoComm& comm) {
  ProcessGroup group{
      std::string(comm.group), std::string(comm.group_description), {}, {}, comm.ranks_in_group};
  const std::vector<std::int64_t> listed = integers_in(comm.ranks);  // at most 30
  for (std::int64_t place = 0; place < std::min(group.size, kMaxListed); ++place) {
    const auto rank = global_rank({listed, comm.global_rank_start, comm.global_rank_stride}, place);
    if (!rank || *rank < 0) {
      group.ranks.clear();
      break;
    }
    group.ranks.push_back(*rank);
  }
  return group;
}

}  // namespace

std::vector<std::int64_t> integers_in(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    std::int64_t number = 0;
    const auto read = std::from_chars(at, text.data() + text.size(), number);
    if (read.ec == std::errc()) {
      numbers.push_back(number);
      at = read.ptr;
    } else {
      ++at;
    }
  }
  return numbers;
}

std::optional<DistributedInfo> distributed_of_calls(const Profile& profile) {
  DistributedInfo told{.backend = {}, .rank = -1, .world_size = 1, .groups = {}};
  std::map<std::string_view, ProcessGroup> groups;
  for (const std::vector<KinetoComm>* comms : {&profile.host_comms, &profile.comms}) {
    for (const KinetoComm& comm : *comms) {
      const auto kind = kind_of_recorded_name(comm.name);
      if (!kind || !tells_own_rank(*kind) || comm.ranks_in_group < 2) {
        continue;
      }
      auto known = groups.find(comm.group);
      if (known == groups.end()) {
        known = groups.emplace(comm.group, group_of(comm)).first;
      }
      const ProcessGroup& group = known->second;
      const auto rank = global_rank({group.ranks, 0, -1}, comm.rank);
      if (!rank) {
        continue;
      }
      if (told.rank >= 0 && told.rank != *rank) {
        return std::nullopt;
      }
      told.rank = *rank;
      told.world_size = std::max(told.world_size, 1 + std::ranges::max(group.ranks));
    }
  }
  for (auto& [name, group] : groups) {
    told.groups.push_back(std::move(group));
  }
  return told.rank < 0 ? std::nullopt : std::optional(std::move(told));
}

std::vector<KinetoDevice> read_devices(element list, Losses& losses) {
  std::vector<KinetoDevice> devices;
  for (const element device : objects_of(element(list))) {
    const std::int64_t processors = number_at(device, "multiProcessorCount", 0);
    devices.push_back({{text_at(device, "name", losses), number_at(device, "numSms", processors),
                        number_at(device, "totalGlobalMem", 0)},
                       number_at(device, "id", 0)});
  }
  return devices;
}

DistributedInfo read_distributed(element value, Losses& losses) {
  DistributedInfo info{text_at(value, "backend", losses),
                       number_at(value, "rank", 0),
                       number_at(value, "world_size", 1),
                       {}};
  for (const element group : objects_of(value["pg_config"])) {
    info.groups.push_back({text_at(group, "pg_name", losses), text_at(group, "pg_desc", losses),
                           text_at(group, "backend_config", losses), ranks_of(group),
                           number_at(group, "pg_size", 0)});
  }
  return info;
}

}  // namespace understudy::et_schema
