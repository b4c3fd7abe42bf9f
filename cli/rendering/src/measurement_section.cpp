#include "measurement_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/figures.h"
#include "common/table.h"

namespace understudy::cli {
namespace {

using et_schema::Report;
using et_schema::RunFigures;

/// What ended the iterations.
std::string end_text(const RunFigures& total) {
  const et_schema::MeasurementUse& use = total.measurement;
  if (use.ended_by == "interval" && use.until_percent) {
    return fmt::format("; that narrow it was to be: ± {} %", *use.until_percent);
  }
  if (use.until_percent && !use.ended_by.empty()) {
    return fmt::format("; ended by {} before it was ± {} %", use.ended_by, *use.until_percent);
  }
  return use.ended_by.empty() ? "" : "; ended by " + use.ended_by;
}

std::string interval_text(const RunFigures& total) {
  const et_schema::IterationStats& stats = total.iteration_ms;
  if (stats.samples.empty()) {
    return "";
  }
  const std::string interval =
      stats.median_low
          ? fmt::format("{} … {}", figure_text(stats.median_low), figure_text(stats.median_high))
          : "–";
  return fmt::format("  95 % interval of the median: {}{}\n", interval, end_text(total));
}

std::string restores_text(const et_schema::MeasurementUse& use) {
  if (use.restore_reason.empty()) {
    return "";
  }
  const std::string how_often =
      use.restore_every == 0
          ? "inputs and weights never reset"
          : fmt::format("inputs and weights reset {} time{}, every {} iteration{}, untimed",
                        with_commas(use.restores), use.restores == 1 ? "" : "s",
                        with_commas(use.restore_every), use.restore_every == 1 ? "" : "s");
  return fmt::format("  {} ({})\n", how_often, use.restore_reason);
}

}  // namespace

std::string warnings_text(const Report& report, std::string_view figure) {
  std::string text;
  for (const et_schema::MeasurementWarning& warning : report.warnings) {
    if (warning.figure == figure) {
      text += fmt::format("  WARNING: {}\n", warning.text);
    }
  }
  return text;
}

Section iteration_section(const Report& report) {
  const et_schema::IterationStats& stats = report.total.iteration_ms;
  TextTable table(
      {{"min", kRight}, {"p10", kRight}, {"median", kRight}, {"p90", kRight}, {"p99", kRight}});
  table.add({figure_text(stats.min), figure_text(stats.p10), figure_text(stats.median),
             figure_text(stats.p90), figure_text(stats.p99)});
  const std::string of_ranks = report.world_size > 1 ? ", the slowest rank of each" : "";
  return {fmt::format("Iteration time, ms ({} iterations{})", with_commas(stats.samples.size()),
                      of_ranks),
          table.to_text() + interval_text(report.total) + restores_text(report.total.measurement) +
              warnings_text(report, "iteration_ms")};
}

std::string nan_text(const Report& report) {
  const RunFigures& total = report.total;
  if (total.values.nan == 0) {
    return "";
  }
  const auto first = std::ranges::find(total.value_findings, "nan", &et_schema::ValueFinding::kind);
  const std::string where = first == total.value_findings.end()
                                ? ""
                                : fmt::format(", first of node {} ({})", first->node, first->name);
  return fmt::format(
      "WARNING: {} tensor{} hold{} NaN{}: the step computes with other numbers than the original, "
      "unless that had NaN too\n",
      with_commas(total.values.nan), total.values.nan == 1 ? "" : "s",
      total.values.nan == 1 ? "s" : "", where);
}

std::string incomplete_text(const Report& report) {
  const RunFigures& total = report.total;
  if (total.complete) {
    return "";
  }
  return fmt::format("INCOMPLETE: ended by {} after {} iterations and {} timing passes\n",
                     total.measurement.ended_by, with_commas(total.iteration_ms.samples.size()),
                     with_commas(total.measurement.timing_passes));
}

}  // namespace understudy::cli
