#include "fleet/nightly/report_result.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "et_schema/base/error.h"

namespace understudy::fleet {
namespace {

std::string environment_json(const et_schema::Environment& environment) {
  return nlohmann::ordered_json{
      {"tool_version", environment.tool_version}, {"device", environment.device},
      {"cpu_model", environment.cpu_model},       {"cpu_count", environment.cpu_count},
      {"threads", environment.threads},           {"backend", environment.backend},
      {"versions", environment.versions},         {"settings", environment.settings}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string software_of(const et_schema::Environment& environment) {
  std::string text = "understudy " + environment.tool_version;
  for (const auto& [name, version] : environment.versions) {
    text += fmt::format(", {} {}", name, version);
  }
  return text;
}

double or_nan(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

Result result_of(const et_schema::Report& report) {
  const et_schema::RunFigures& total = report.total;
  if (!(total.iteration_ms.median.value_or(0) > 0)) {
    throw et_schema::run_failed("the replay measured nothing",
                                {.hint = "more --iterations or --seconds"});
  }
  Result result;
  result.median_ms = *total.iteration_ms.median;
  result.low_ms = or_nan(total.iteration_ms.median_low);
  result.high_ms = or_nan(total.iteration_ms.median_high);
  result.coverage = or_nan(total.coverage.count);
  result.peak_bytes = static_cast<std::int64_t>(total.memory.peak_bytes);
  for (const et_schema::OperatorTime& row : total.operators) {
    result.class_ms[row.op_class] += row.ms;
  }
  return result;
}

std::int64_t put_environment(Connection& connection, const et_schema::Environment& environment) {
  return put_environment(connection, software_of(environment), environment_json(environment));
}

}  // namespace understudy::fleet
