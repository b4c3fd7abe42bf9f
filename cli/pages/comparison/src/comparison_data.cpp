
#include <utility>

#include "cli/pages/comparison/comparison_page.h"
#include "comparison_parts.h"
#include "et_schema/base/enum_names.h"

namespace understudy::pages {
namespace {

using comparer::Comparison;
using comparer::Row;
using comparer::RowKind;
using comparer::Run;
using Json = nlohmann::ordered_json;
using et_schema::Interval;

constexpr int kComparisonVersion = 1;

template <typename Number>
Json json_of(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json json_of(const std::optional<Interval>& ratio) {
  return ratio ? Json{{"value", ratio->value}, {"low", ratio->low}, {"high", ratio->high}}
               : Json(nullptr);
}

Json json_of(const std::vector<Run>& runs) {
  Json list = Json::array();
  for (const Run& run : runs) {
    list.push_back({{"file", run.file},
                    {"source", run.is_profile ? "profile" : "report"},
                    {"benchmark", run.environment.benchmark},
                    {"benchmark_hash", run.environment.benchmark_hash},
                    {"date_utc", run.environment.date_utc},
                    {"complete", run.interrupted_by.empty()},
                    {"world_size", run.world_size}});
  }
  return list;
}

// The speed probe is not a row of a comparison.
constexpr et_schema::EnumNames<RowKind::kSpeedProbe> kKindNames("iteration", "common", "class",
                                                                "gap", "operator",
                                                                "operator on the device",
                                                                "collective", "");

/// Returns everything except the rows.
Json head_of(const Comparison& comparison, const std::vector<Run>& a, const std::vector<Run>& b) {
  Json differences = Json::array();
  for (const comparer::EnvironmentDifference& row : comparison.differences) {
    differences.push_back({{"field", row.field}, {"a", row.a}, {"b", row.b}});
  }
  return {{"format", "understudy-comparison"},
          {"version", kComparisonVersion},
          {"a", json_of(a)},
          {"b", json_of(b)},
          {"environment_differences", std::move(differences)},
          {"is_alike", comparison.is_alike},
          {"switches_per_s", json_of(comparison.switches_per_s)},
          {"was_busy", comparison.was_busy},
          {"speed_probe", json_of(comparison.speed_probe)},
          {"samples_left_out", comparison.samples_left_out}};
}

}  // namespace

Json comparison_json(const Comparison& comparison, const std::vector<Run>& a,
                     const std::vector<Run>& b,
                     const std::optional<comparer::DeviceComparison>& devices) {
  Json rows = Json::array();
  for (const Row& row : comparison.rows) {
    rows.push_back({{"kind", kKindNames[row.kind]},
                    {"name", row.name},
                    {"detail", row.detail},
                    {"count_a", json_of(row.count_a)},
                    {"count_b", json_of(row.count_b)},
                    {"a_ms", json_of(row.a_ms)},
                    {"b_ms", json_of(row.b_ms)},
                    {"change_ms", json_of(row.change_ms)},
                    {"ratio", json_of(row.ratio)},
                    {"beside_rest", json_of(row.beside_rest)},
                    {"p", json_of(row.p)},
                    {"verdict", comparer::to_string(row.verdict)},
                    {"why", row.why}});
  }
  Json json = head_of(comparison, a, b);
  json["rows"] = std::move(rows);
  json["counters"] = Json::array();
  for (const et_schema::ComparedCounter& row : comparison.counters) {
    json["counters"].push_back({{"name", row.name},
                                {"class", row.op_class},
                                {"a", row.a},
                                {"b", row.b},
                                {"ratio", json_of(row.ratio)},
                                {"verdict", row.verdict}});
  }
  if (devices) {
    json["device"] = device_json(*devices);
  }
  return json;
}

}  // namespace understudy::pages
