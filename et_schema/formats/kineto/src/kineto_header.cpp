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

std::string text_of(element value, Losses& losses) {
  std::string_view text;
  return value.get_string().get(text) == SUCCESS ? escaped_name(text, losses) : std::string();
}

std::int64_t number_of(element value, std::int64_t otherwise) {
  std::int64_t number = 0;
  return value.get_int64().get(number) == SUCCESS ? number : otherwise;
}

ProcessGroup read_group(simdjson::dom::object object, Losses& losses) {
  ProcessGroup group;
  for (const auto [key, value] : object) {
    if (key == "pg_name") {
      group.name = text_of(value, losses);
    } else if (key == "pg_desc") {
      group.description = text_of(value, losses);
    } else if (key == "backend_config") {
      group.backend = text_of(value, losses);
    } else if (key == "pg_size") {
      group.size = number_of(value, 0);
    } else if (key == "ranks") {
      group.ranks = integers_in(simdjson::minify(value));  // PyTorch's array, Kineto's quoted one
      if (std::ranges::any_of(group.ranks, [](std::int64_t rank) { return rank < 0; })) {
        throw bad_input("the process groups cannot be read",
                        {.field = "distributedInfo",
                         .expected = "ranks as a list of integers of 0 or more",
                         .got = quote(simdjson::minify(value))});
      }
    }
  }
  return group;
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
  simdjson::dom::array array;
  if (list.get_array().get(array) != SUCCESS) {
    return devices;
  }
  for (const element entry : array) {
    simdjson::dom::object object;
    if (entry.get_object().get(object) != SUCCESS) {
      continue;
    }
    KinetoDevice& device = devices.emplace_back();
    for (const auto [key, value] : object) {
      if (key == "id") {
        device.id = number_of(value, 0);
      } else if (key == "name") {
        device.name = text_of(value, losses);
      }
    }
  }
  return devices;
}

DistributedInfo read_distributed(element value, Losses& losses) {
  DistributedInfo info;
  simdjson::dom::object object;
  if (value.get_object().get(object) != SUCCESS) {
    return info;
  }
  for (const auto [key, field] : object) {
    if (key == "backend") {
      info.backend = text_of(field, losses);
    } else if (key == "rank") {
      info.rank = number_of(field, 0);
    } else if (key == "world_size") {
      info.world_size = number_of(field, 1);
    } else if (key == "pg_config") {
      simdjson::dom::array groups;
      if (field.get_array().get(groups) != SUCCESS) {
        continue;
      }
      for (const element entry : groups) {
        simdjson::dom::object group;
        if (entry.get_object().get(group) == SUCCESS) {
          info.groups.push_back(read_group(group, losses));
        }
      }
    }
  }
  return info;
}

}  // namespace understudy::et_schema
