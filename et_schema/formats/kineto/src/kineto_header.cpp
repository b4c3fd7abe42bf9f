#include "kineto_header.h"

#include <string>

#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"
#include "et_schema/formats/json_trace/escaped_name.h"

namespace understudy::et_schema {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::element;

std::string text_of(element value, Losses& losses) {
  std::string_view text;
  return value.get_string().get(text) == SUCCESS ? escaped_name(text, losses) : std::string();
}

std::int64_t number_of(element value, std::int64_t otherwise) {
  std::int64_t number = 0;
  return value.get_int64().get(number) == SUCCESS ? number : otherwise;
}

[[noreturn]] void fail_ranks(element value) {
  throw bad_input("the process groups cannot be read",
                  {.field = "distributedInfo",
                   .expected = "ranks as a list of integers of 0 or more",
                   .got = quote(simdjson::minify(value))});
}

void read_rank_list(ProcessGroup& group, element value) {
  simdjson::dom::array list;
  if (value.get_array().get(list) != SUCCESS) {
    fail_ranks(value);
  }
  for (const element item : list) {
    const std::int64_t rank = number_of(item, -1);
    if (rank < 0) {
      fail_ranks(value);
    }
    group.ranks.push_back(rank);
  }
}

/// Reads the ranks. PyTorch writes an array, Kineto a quoted array.
void read_ranks(ProcessGroup& group, element value) {
  std::string_view text;
  if (value.get_string().get(text) != SUCCESS) {
    read_rank_list(group, value);
    return;
  }
  if (text.empty()) {
    return;
  }
  simdjson::dom::parser parser;
  element list;
  if (parser.parse(std::string(text)).get(list) != SUCCESS) {
    fail_ranks(value);
  }
  read_rank_list(group, list);
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
      read_ranks(group, value);
    }
  }
  return group;
}

}  // namespace

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
