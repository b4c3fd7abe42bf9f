#include "fleet/analysis/figures.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "et_schema/base/error.h"

namespace understudy::fleet {
namespace {

double or_nan(const std::optional<double>& value) {
  return value.value_or(kNotKnown);
}

}  // namespace

Figures figures_of(const et_schema::Report& report) {
  const et_schema::RunFigures& total = report.total;
  if (!(total.iteration_ms.median.value_or(0) > 0)) {
    throw et_schema::run_failed("the replay measured nothing",
                                {.hint = "more --iterations or --seconds"});
  }
  Figures figures;
  figures.median_ms = *total.iteration_ms.median;
  figures.low_ms = or_nan(total.iteration_ms.median_low);
  figures.high_ms = or_nan(total.iteration_ms.median_high);
  figures.coverage = or_nan(total.coverage.count);
  figures.peak_bytes = static_cast<std::int64_t>(total.memory.peak_bytes);
  for (const et_schema::OperatorTime& row : total.operators) {
    figures.class_ms[row.op_class] += row.ms;
  }
  return figures;
}

nlohmann::ordered_json lasting_environment(const et_schema::Environment& environment) {
  return {{"tool_version", environment.tool_version}, {"device", environment.device},
          {"cpu_model", environment.cpu_model},       {"cpu_count", environment.cpu_count},
          {"threads", environment.threads},           {"backend", environment.backend},
          {"versions", environment.versions},         {"settings", environment.settings}};
}

std::string software_of(const et_schema::Environment& environment) {
  std::string text = "understudy " + environment.tool_version;
  for (const auto& [name, version] : environment.versions) {
    text += fmt::format(", {} {}", name, version);
  }
  return text;
}

}  // namespace understudy::fleet
