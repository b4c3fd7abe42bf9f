#include "et_schema/formats/capture/capture.h"

#include <limits>
#include <utility>

#include "et_schema/base/json_fields.h"
#include "et_schema/base/statistics.h"
#include "et_schema/model/comm_traits.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kFormat = "understudy-capture";
constexpr int kVersion = 1;

std::map<std::string, std::string> read_texts(const JsonField& rank, const char* key) {
  std::map<std::string, std::string> texts;
  if (const auto field = rank.find(key); field && !field->is_null()) {
    for (const auto& [name, text] : field->members()) {
      texts[name] = text.as_free_text();
    }
  }
  return texts;
}

CapturedRank read_rank(const JsonField& field, std::size_t index) {
  if (field.at("rank").as_uint() != index) {
    field.at("rank").fail(std::to_string(index));
  }
  CapturedRank rank;
  rank.files = field.at("files").as_texts();
  if (const auto trace = field.find("trace"); trace && !trace->is_null()) {
    rank.trace = {trace->at("pid").as_int(), trace->at("start_ts").as_int()};
  }
  rank.step_ns = field.at("step_ns").as_ints();
  if (const auto faults = field.find("step_minor_faults")) {
    rank.step_minor_faults = faults->as_ints();
  }
  if (const auto faults = field.find("kineto_only_minor_faults")) {
    rank.profiled_minor_faults = faults->as_ints();
  }
  const auto untouched = field.find("untouched_tensor_bytes");
  if (untouched && !untouched->is_null()) {
    for (const auto& [device, bytes] : untouched->members()) {
      const std::uint64_t count = bytes.as_uint();
      if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        bytes.fail("a number of bytes below 2^63");
      }
      rank.untouched_tensor_bytes[device] = count;
    }
  }
  rank.kernel_settings = read_texts(field, "kernel_settings");
  if (const auto environment = field.find("environment"); environment && !environment->is_null()) {
    rank.variables = read_texts(*environment, "variables");
    for (auto& [name, value] : rank.variables) {
      value = is_of_its_host(name) ? kKeptOnHost : value;  // older captures hold it
    }
  }
  const auto observer = field.find("observer_ns");
  if (observer && !observer->is_null()) {
    rank.observer = {.kineto_event_ns = observer->at("kineto_event").as_double(),
                     .et_node_ns = observer->at("et_node").as_double_or_null()};
    if (const auto launch = observer->find("kineto_launch")) {
      rank.observer->kineto_launch_ns = launch->as_double_or_null();
    }
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

std::optional<std::int64_t> CapturedRank::median_minor_faults() const {
  return whole_median(step_minor_faults);
}

std::optional<std::int64_t> CapturedRank::median_profiled_minor_faults() const {
  return whole_median(profiled_minor_faults);
}

bool is_capture(std::string_view json) {
  // One program writes these files, with this key first.
  constexpr std::size_t kStart = 64;
  return json.substr(0, kStart).find(std::string("\"") + kFormat + "\"") != std::string_view::npos;
}

Capture parse_capture(std::string_view json, const std::string& file) {
  const JsonSource source{file, "the capture's description cannot be read",
                          "capture again with scripts/capture, or give --no-profile"};
  const nlohmann::json document = parse_json(json, source);
  const JsonField root(document, source);
  check_format(root, {"capture", kFormat, kVersion});
  Capture capture;
  if (const auto id = root.find("id")) {
    capture.id = id->as_text();
  }
  for (const JsonField& item : root.at("ranks").items()) {
    capture.ranks.push_back(read_rank(item, capture.ranks.size()));
  }
  const auto world_size = root.find("world_size");
  capture.world_size =
      world_size ? world_size->as_int() : static_cast<std::int64_t>(capture.ranks.size());
  return capture;
}

}  // namespace understudy::et_schema
