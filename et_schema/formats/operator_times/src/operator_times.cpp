#include "et_schema/formats/operator_times/operator_times.h"

#include <algorithm>
#include <numeric>

#include "et_schema/base/enum_names.h"
#include "et_schema/base/error.h"
#include "et_schema/base/json_record.h"
#include "et_schema/base/statistics.h"
#include "et_schema/model/report.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kFormat = "understudy-operator-times";
constexpr const char* kHint = "make the file again with `replay --operator-times`";

constexpr EnumNames<RanAs::kCommunication> kRanNames("exact", "substitute", "stub",
                                                     "communication");
constexpr EnumNames<TimedAs::kHost> kTimedNames("timed_call", "device", "host");

}  // namespace

std::optional<TimeStats> time_stats(std::vector<double> samples_ns) {
  if (samples_ns.empty()) {
    return std::nullopt;
  }
  constexpr double kLow = 0.1;
  constexpr double kHalf = 0.5;
  constexpr double kHigh = 0.9;
  std::ranges::sort(samples_ns);
  const double sum = std::accumulate(samples_ns.begin(), samples_ns.end(), 0.0);
  TimeStats stats{samples_ns.size(),
                  samples_ns.front(),
                  *percentile(samples_ns, kLow),
                  *percentile(samples_ns, kHalf),
                  *percentile(samples_ns, kHigh),
                  sum / static_cast<double>(samples_ns.size())};
  stats.spread_ns = stats.p90_ns - stats.p10_ns;
  return stats;
}

std::string_view to_string(RanAs as) {
  return kRanNames[as];
}

std::string_view to_string(TimedAs timed) {
  return kTimedNames[timed];
}

std::optional<TimedAs> timed_as_from_string(std::string_view name) {
  return kTimedNames.find(name);
}

static nlohmann::ordered_json json_value(const Device& device) {
  return to_string(device);
}

static void read_value(const JsonField& field, Device& device) {
  device = parse_device(field.as_text());
}

void members(auto& json, SameAs<TensorLayout> auto& tensor) {
  json("dtype", tensor.dtype, Names{dtype_from_string, "an element type"});
  json("device", tensor.device);
  json("sizes", tensor.sizes);
  json.if_any("strides", tensor.strides);
  json.unless(std::nullopt, "stored", tensor.stored);
}

static void check_record(const JsonField& /*field*/, TensorLayout& tensor) {
  drop_contiguous_strides(tensor);  // another writer may tell them
}

void members(auto& json, SameAs<TimeStats> auto& stats) {
  constexpr NumberRange kTime = {"nanoseconds, 0 or more", [](double ns) { return ns >= 0; }};
  json("n", stats.n);
  json("min_ns", stats.min_ns, kTime);
  json("p10_ns", stats.p10_ns, kTime);
  json("median_ns", stats.median_ns, kTime);
  json("p90_ns", stats.p90_ns, kTime);
  json("mean_ns", stats.mean_ns, kTime);
}

static void check_record(const JsonField& /*field*/, TimeStats& stats) {
  stats.spread_ns = std::max(stats.p90_ns - stats.p10_ns, 0.0);
}

void members(auto& json, SameAs<TimedConditions> auto& conditions) {
  json.if_any("call", conditions.call);
  json.either("cache", conditions.is_cold, "warm", "cold");
  json.either("mode", conditions.is_sustained, "burst", "sustained");
  json("threads", conditions.threads);
  json.unless(0.0, "speed_probe_ms", conditions.speed_probe_ms);
}

void members(auto& json, SameAs<MeasuredCall> auto& row) {
  json("rank", row.rank);
  json("instruction", row.instruction);
  json("node", row.node_id);
  json("name", row.call.name);
  json("overload", row.call.overload);
  json("class", row.op_class);
  json("as", row.as,
       Names{[](std::string_view name) { return kRanNames.find(name); },
             "exact, substitute, stub or communication"});
  json("inputs", row.call.inputs);
  json("outputs", row.call.outputs);
  json.unless(false, "is_full", row.call.is_full);
  json("host", row.host);
  json("device", row.on_device);
  json.if_any("counters", row.counters);
  json.unless(std::nullopt, "conditions", row.conditions);
}

void members(auto& json, SameAs<Ceiling> auto& ceiling) {
  json("device", ceiling.device);
  json("threads", ceiling.threads);
  json.either("kind", ceiling.is_bandwidth, "flops", "bandwidth");
  json("name", ceiling.name);
  json("per_s", ceiling.per_s, kPositive);
  json.unless(false, "is_sustained", ceiling.is_sustained);
}

nlohmann::ordered_json json_value(const Ceiling& ceiling) {
  JsonWriter json;
  members(json, ceiling);
  return json.take();
}

void read_value(const JsonField& field, Ceiling& ceiling) {
  JsonReader json(field);
  members(json, ceiling);
}

/// The header except for format and version.
static void head_members(auto& json, SameAs<OperatorTimes> auto& times) {
  json("tool_version", times.tool_version);
  json("benchmark", times.benchmark);
  json("benchmark_hash", times.benchmark_hash);
  json("device", times.device);
  json("threads", times.threads);
  json("world_size", times.world_size);
  json.if_any("ceilings", times.ceilings);
}

std::string to_json_lines(const OperatorTimes& times) {
  JsonWriter head;
  head("format", kFormat);
  head("version", kOperatorTimesVersion);
  head_members(head, times);
  std::string out = json_line(head.take());
  for (const MeasuredCall& row : times.rows) {
    out += json_line(json_of(row));
  }
  return out;
}

OperatorTimes parse_operator_times(std::string_view text, const std::string& file) {
  constexpr const char* kSummary = "the operator times cannot be read";
  OperatorTimes times;
  for_each_json_line(text, {file, kSummary, kHint},
                     {"operator times", kFormat, kOperatorTimesVersion},
                     [&times](const JsonField& line, std::size_t number) {
                       if (number == 1) {
                         JsonReader head(line);
                         head_members(head, times);
                       } else {
                         read_json(line, times.rows.emplace_back());
                       }
                     });
  if (text.empty()) {
    throw bad_input(kSummary, {.file = file,
                               .expected = "a header line and rows",
                               .got = "an empty file",
                               .hint = kHint});
  }
  return times;
}

}  // namespace understudy::et_schema
