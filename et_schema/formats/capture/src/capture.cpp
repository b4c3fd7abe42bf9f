#include "et_schema/formats/capture/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "et_schema/base/file_name.h"
#include "et_schema/base/json_record.h"
#include "et_schema/base/statistics.h"
#include "et_schema/model/measurement.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kFormat = "understudy-capture";
constexpr int kVersion = 1;
constexpr double kNsPerMs = 1e6;

/// `least`: one more than the rank before.
CapturedRank read_rank(const JsonField& field, int least) {
  CapturedRank rank;
  rank.rank = static_cast<int>(field.at("rank").as_int());
  if (rank.rank < least) {
    field.at("rank").fail(fmt::format("{} or more", least));
  }
  read_json(field.at("files"), rank.files);
  if (const JsonField trace = field.at("trace"); !trace.is_null()) {
    rank.trace = {trace.at("pid").as_int(), trace.at("start_ts").as_int()};
  }
  read_json(field.at("step_ns"), rank.step_ns);
  read_json(field.at("step_minor_faults"), rank.step_minor_faults);
  read_json(field.at("kineto_only_minor_faults"), rank.profiled_minor_faults);
  const auto cpu_ns = field.find("cpu_ns_in_timed_steps");
  if (cpu_ns && !rank.step_ns.empty()) {
    rank.counters["cpu_ms"] =
        cpu_ns->as_double() / kNsPerMs / static_cast<double>(rank.step_ns.size());
  }
  if (const auto faults = rank.median_minor_faults()) {
    rank.counters["minor_faults"] = static_cast<double>(*faults);
  }
  if (const JsonField untouched = field.at("untouched_tensor_bytes"); !untouched.is_null()) {
    for (const auto& [device, bytes] : untouched.members()) {
      const std::uint64_t count = bytes.as_uint();
      if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        bytes.fail("a number of bytes below 2^63");
      }
      rank.untouched_tensor_bytes[device] = count;
    }
  }
  read_json(field.at("kernel_settings"), rank.kernel_settings, kFreeText);
  read_json(field.at("environment").at("variables"), rank.variables, kFreeText);
  if (const JsonField observer = field.at("observer_ns"); !observer.is_null()) {
    rank.observer = {.kineto_event_ns = observer.at("kineto_event").as_double(),
                     .kineto_launch_ns = observer.at("kineto_launch").as_double_or_null(),
                     .et_node_ns = observer.at("et_node").as_double_or_null()};
  }
  return rank;
}

std::optional<std::int64_t> whole_median(const std::vector<std::int64_t>& values) {
  const std::optional<double> middle = median({values.begin(), values.end()});
  return middle ? std::optional(static_cast<std::int64_t>(*middle)) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> CapturedRank::median_step_ns() const {
  return whole_median(step_ns);
}

std::optional<StepInterval> CapturedRank::step_interval() const {
  const std::optional<MedianInterval> found = median_interval({step_ns.begin(), step_ns.end()});
  return found ? std::optional(StepInterval{static_cast<std::int64_t>(found->low),
                                            static_cast<std::int64_t>(found->high)})
               : std::nullopt;
}

std::optional<std::int64_t> CapturedRank::median_minor_faults() const {
  return whole_median(step_minor_faults);
}

std::optional<std::int64_t> CapturedRank::median_profiled_minor_faults() const {
  return whole_median(profiled_minor_faults);
}

const CapturedRank* Capture::rank_of(const std::string& file) const {
  const auto found = std::ranges::find_if(ranks, [&](const CapturedRank& rank) {
    return std::ranges::find(rank.files, file_name(file)) != rank.files.end();
  });
  return found == ranks.end() ? nullptr : &*found;
}

bool is_capture(std::string_view json) {
  // scripts/capture is the only writer and writes this key first.
  constexpr std::size_t kStart = 64;
  return json.substr(0, kStart).find(std::string("\"") + kFormat + "\"") != std::string_view::npos;
}

Capture parse_capture(std::string_view json, const std::string& file) {
  const JsonSource source{file, "the capture's description cannot be read",
                          "capture again with scripts/capture, or give --profile none"};
  const nlohmann::json document = parse_json(json, source);
  const JsonField root(document, source);
  check_format(root, {"capture", kFormat, kVersion});
  Capture capture;
  capture.id = root.at("id").as_text();
  capture.world_size = root.at("world_size").as_int();
  for (const JsonField& item : root.at("ranks").items()) {
    capture.ranks.push_back(
        read_rank(item, capture.ranks.empty() ? 0 : capture.ranks.back().rank + 1));
    if (root.find("not_run")) {
      capture.ranks.back().peak_bytes = item.at("peak_tensor_bytes").as_uint();
    }
  }
  return capture;
}

}  // namespace understudy::et_schema
