// Format: nccl-tests' src/util.cu (2.17 to 2.20), jsonOutputInit, writeDeviceReport and
// writeBenchmarkLine*.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "et_schema/base/json_fields.h"
#include "readers.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;

/// Returns the out-of-place result, otherwise the in-place one.
std::optional<JsonField> body_of(const JsonField& result) {
  for (const char* place : {"out_of_place", "in_place"}) {
    if (const auto body = result.find(place); body && !body->is_null()) {
      return body;
    }
  }
  return std::nullopt;
}

bool is_wrong(const JsonField& body) {
  const auto wrong = body.find("nwrong");
  return wrong && !wrong->is_null() && wrong->as_double() != 0;
}

/// The ranks of a call, their hosts and their card.
struct Group {
  int ranks = 0;
  std::set<std::string> hosts;
  std::string card;
};

/// Returns the ranks of the largest group. A process with several GPUs is listed with the first one
/// only, so the entries are multiplied by threads and GPUs, unless their rank numbers are complete.
Group group_of(const JsonField& config) {
  const auto number = [](const JsonField& of, const char* key) {
    const auto field = of.find(key);
    return field ? std::max(field->as_int32(), 1) : 1;
  };
  const std::vector<JsonField> devices = config.at("devices").items();
  std::map<std::int64_t, Group> groups;
  int last = 0;
  for (const JsonField& device : devices) {
    const auto rank = device.find("rank");
    last = rank ? std::max(last, rank->as_int32()) : last;
    const auto group = device.find("group");
    Group& of = groups[group ? group->as_int() : 0];
    ++of.ranks;
    of.hosts.insert(device.at("hostname").as_text());
    if (const auto card = device.find("device_info")) {
      of.card = card->as_text();
    }
  }
  if (groups.empty()) {
    return {};
  }
  Group most = std::ranges::max_element(groups, {}, [](const auto& entry) {
                 return entry.second.ranks;
               })->second;
  const bool has_all = devices.size() > 1 && last + 1 == static_cast<int>(devices.size());
  if (!has_all) {
    most.ranks *= number(config, "nthreads") * number(config, "ngpus");
  }
  return most;
}

std::optional<CollectiveRow> row_of(const JsonField& result, ReadCollectives& read) {
  CollectiveRow row;
  row.bytes = result.at("size").as_int();
  const JsonField type = result.at("type");
  const auto dtype = dtype_of_tool_name(type.as_text());
  const auto body = body_of(result);
  if (!dtype) {
    type.fail("an element type of NCCL");
  }
  if (body && is_wrong(*body)) {
    ++read.left_out["wrong results"];
  } else if (!body) {
    ++read.left_out["lines of another shape"];
  } else if (row.bytes == 0) {
    ++read.left_out["sizes of 0"];
  } else {
    row.dtype = *dtype;
    // The key is "cpu_time" if calls were timed on the host.
    const auto time = body->find("time");
    row.median_ns = (time ? *time : body->at("cpu_time")).as_double() * kNsPerUs;
    return row;
  }
  return std::nullopt;
}

}  // namespace

ReadCollectives parse_nccl_tests_json(std::string_view text, const std::string& file) {
  const et_schema::JsonSource source{file, "the output of nccl-tests cannot be read",
                                     "run it again with -J FILE"};
  const nlohmann::json document = et_schema::parse_json(text, source);
  const JsonField root(document, source);
  // The command line comes first, then the experiments.
  auto kind = kind_of_program(text);
  kind = kind ? kind : kind_of_program(file);
  if (!kind) {
    refuse_rows(file, "args", "a program of nccl-tests: all_reduce_perf", "none");
  }
  const Group group = group_of(root.at("config"));
  ReadCollectives read;
  for (const JsonField& result : root.at("results").items()) {
    if (auto row = row_of(result, read)) {
      row->kind = *kind;
      row->ranks = group.ranks;
      row->on_device = true;
      row->nodes = static_cast<int>(group.hosts.size());
      row->source = file;
      row->device = group.card;
      check_row(*row, file, fmt::format("results, size {}", row->bytes));
      read.rows.push_back(std::move(*row));
    }
  }
  if (read.rows.empty()) {
    refuse_rows(file, "results", "a row or more that can be used", "none");
  }
  add_receives(read.rows);
  return read;
}

}  // namespace understudy::predictor
