#include "et_schema/formats/pytorch_et/process_groups.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/json_scan.h"
#include "et_schema/base/quote.h"
#include "et_schema/formats/json_trace/escaped_name.h"

namespace understudy::et_schema {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::element;

constexpr std::string_view kInitName = "## process_group:init ##";
static_assert(kMaxWorldSize == 1'048'576);
constexpr const char* kRanks = "ranks from 0 to 1048575, each once";

[[noreturn]] void refuse_groups(std::uint64_t node, std::string expected, std::string got) {
  throw bad_input("the process groups cannot be read", {.node = node,
                                                        .field = "inputs.values",
                                                        .expected = std::move(expected),
                                                        .got = std::move(got)});
}

/// Reads a text, or a number (an address, in torch 2.0 and 2.1) as text.
std::string text_or_number(element value, Losses& losses) {
  std::string_view text;
  if (value.get_string().get(text) == SUCCESS) {
    return escaped_name(text, losses);
  }
  std::int64_t number = 0;
  if (value.get_int64().get(number) == SUCCESS) {
    return fmt::format("{}", number);
  }
  return {};
}

/// Reads a list of global ranks in group order, or {"global rank": group rank} (torch 2.0 and 2.1).
std::vector<std::int64_t> read_ranks(element value, std::uint64_t node) {
  std::vector<std::int64_t> ranks;
  simdjson::dom::array list;
  if (value.get_array().get(list) == SUCCESS) {
    for (const element item : list) {
      std::int64_t rank = 0;
      if (item.get_int64().get(rank) != SUCCESS || rank < 0 || rank >= kMaxWorldSize) {
        refuse_groups(node, kRanks, quote(simdjson::minify(item)));
      }
      ranks.push_back(rank);
    }
    return ranks;
  }
  simdjson::dom::object map;
  if (value.get_object().get(map) != SUCCESS) {
    refuse_groups(node, "ranks as a list or as {\"global rank\": group rank}",
                  quote(simdjson::minify(value)));
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> by_group_rank;
  for (const auto [key, item] : map) {
    std::int64_t global = 0;
    std::int64_t local = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), global);
    if (error != std::errc() || end != key.data() + key.size() || global < 0 ||
        global >= kMaxWorldSize || item.get_int64().get(local) != SUCCESS) {
      refuse_groups(node, "ranks as {\"global rank\": group rank}", quote(simdjson::minify(value)));
    }
    by_group_rank.emplace_back(local, global);
  }
  std::sort(by_group_rank.begin(), by_group_rank.end());
  for (const auto& [local, global] : by_group_rank) {
    ranks.push_back(global);
  }
  return ranks;
}

void check_once(std::vector<std::int64_t> ranks, element list, std::uint64_t node) {
  std::sort(ranks.begin(), ranks.end());
  if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) {
    refuse_groups(node, kRanks, quote(simdjson::minify(list)));
  }
}

ProcessGroup read_group(RecordedGroups& recorded, element entry, std::uint64_t node) {
  simdjson::dom::object object;
  if (entry.get_object().get(object) != SUCCESS) {
    refuse_groups(node, "an object for each group", quote(simdjson::minify(entry)));
  }
  ProcessGroup group;
  std::vector<std::string> addresses;
  for (const auto [key, value] : object) {
    if (key == "pg_name") {
      group.name = text_or_number(value, recorded.losses);
    } else if (key == "pg_id" || key == "backend_id") {
      addresses.push_back(text_or_number(value, recorded.losses));
    } else if (key == "pg_desc") {
      group.description = text_or_number(value, recorded.losses);
    } else if (key == "backend_config") {
      group.backend = text_or_number(value, recorded.losses);
    } else if (key == "ranks") {
      group.ranks = read_ranks(value, node);
      check_once(group.ranks, value, node);
    } else if (key == "group_size") {
      if (value.get_int64().get(group.size) != SUCCESS || group.size < 0 ||
          group.size > kMaxWorldSize) {
        refuse_groups(node, "a group_size from 0 to 1048576", quote(simdjson::minify(value)));
      }
    }
  }
  if (group.name.empty() && !addresses.empty()) {
    group.name = addresses.front();
  }
  for (const std::string& address : addresses) {
    recorded.name_by_address.insert_or_assign(address, group.name);
  }
  if (group.size == 0) {
    group.size = static_cast<std::int64_t>(group.ranks.size());
  }
  return group;
}

/// Returns a list of the complete entries of a truncated list.
std::string whole_entries(std::string_view text) {
  std::string list = "[";
  std::size_t position = text.find('{');
  while (position != std::string_view::npos) {
    const ScanResult entry = scan_brackets(text, position);
    if (entry.status != ScanStatus::kComplete) {
      break;
    }
    if (list.size() > 1) {
      list += ',';
    }
    list += text.substr(position, entry.end - position);
    position = text.find('{', entry.end);
  }
  return list + "]";
}

void read_list(RecordedGroups& recorded, std::string_view text, std::uint64_t node) {
  if (text.empty()) {
    return;
  }
  simdjson::dom::parser parser;
  element document;
  const std::size_t start = skip_space(text, 0);
  const bool is_list = start < text.size() && text[start] == '[';
  const ScanStatus status = is_list ? scan_brackets(text, start).status : ScanStatus::kTooDeep;
  std::string whole(text);
  if (status == ScanStatus::kCutOff) {
    whole = whole_entries(text);
    recorded.losses.add(Loss::kTruncatedLists);
  }
  simdjson::dom::array list;
  if (status == ScanStatus::kTooDeep || parser.parse(whole).get(document) != SUCCESS ||
      document.get_array().get(list) != SUCCESS) {
    refuse_groups(node, "a JSON list of groups", quote(text));
  }
  for (const element entry : list) {
    ProcessGroup group = read_group(recorded, entry, node);
    const auto same =
        std::find_if(recorded.groups.begin(), recorded.groups.end(),
                     [&group](const ProcessGroup& other) { return other.name == group.name; });
    if (same == recorded.groups.end()) {
      recorded.groups.push_back(std::move(group));
    } else {
      *same = std::move(group);
    }
  }
}

}  // namespace

RecordedGroups read_process_groups(const Trace& trace) {
  RecordedGroups recorded;
  for (const Node& node : trace.nodes) {
    if (node.name != kInitName) {
      continue;
    }
    for (const Value& value : node.inputs) {
      if (value.is(ValueKind::kString)) {
        read_list(recorded, value.text(), node.id);
      }
    }
  }
  return recorded;
}

std::optional<std::vector<ProcessGroup>> read_comm_groups(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::object by_name;
  if (!json.starts_with('{') || parser.parse(json).get_object().get(by_name) != SUCCESS) {
    return std::nullopt;
  }
  std::vector<ProcessGroup> groups;
  for (const auto [name, value] : by_name) {
    simdjson::dom::array list;
    if (name.find_first_not_of("0123456789") != std::string_view::npos ||
        value.get_array().get(list) != SUCCESS || list.size() == 0) {
      return std::nullopt;
    }
    ProcessGroup& group = groups.emplace_back();
    group.name = name;
    std::set<std::int64_t> seen;
    for (const element item : list) {
      std::int64_t rank = -1;
      if (item.get_int64().get(rank) != SUCCESS || rank < 0 || rank >= kMaxWorldSize ||
          !seen.insert(rank).second) {
        return std::nullopt;
      }
      group.ranks.push_back(rank);
    }
    group.size = static_cast<std::int64_t>(group.ranks.size());
  }
  return groups.empty() ? std::nullopt : std::optional(std::move(groups));
}

}  // namespace understudy::et_schema
