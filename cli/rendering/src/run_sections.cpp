#include "run_sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "common/figures.h"
#include "common/step_parts.h"
#include "common/table.h"
#include "et_schema/model/report_fields.h"

namespace understudy::cli {
namespace {

using et_schema::RunFigures;

using Figure = std::optional<double>;

std::string ratio_text(const Figure& replay, const Figure& original) {
  return replay && original && *original > 0 ? fmt::format("{:.3f}", *replay / *original) : "–";
}

/// Time outside of operators, from a step and its operators.
Figure rest(const Figure& whole, const Figure& operators) {
  return whole && operators ? Figure(*whole - *operators) : std::nullopt;
}

Figure mean(const std::vector<double>& samples) {
  return samples.empty() ? std::nullopt
                         : Figure(std::accumulate(samples.begin(), samples.end(), 0.0) /
                                  static_cast<double>(samples.size()));
}

std::string with_unit(std::string figure, std::string_view unit) {
  return unit.empty() ? figure : fmt::format("{} {}", figure, unit);
}

}  // namespace

Section original_section(const et_schema::Report& report) {
  const RunFigures& total = report.total;
  const et_schema::OriginalStep& original = total.original;
  if (!original.step_ms) {
    return {};
  }
  const StepParts parts = parts_of_step(total);
  TextTable table({{""}, {"original", kRight}, {"replay", kRight}, {"ratio", kRight}});
  // The original's step is whole: a part of it says nothing against it.
  const bool is_whole = report.filters.empty();
  const auto add = [&table](const char* what, const Figure& recorded, const Figure& replayed,
                            bool is_alike) {
    table.add({what, figure_text(recorded), figure_text(replayed),
               ratio_text(replayed, is_alike ? recorded : std::nullopt)});
  };
  add("the unprofiled step", original.unprofiled_ms, total.iteration_ms.median, is_whole);
  add("the profiled step", original.step_ms, total.iteration_ms.median, is_whole);
  if (parts.operators_ms || !parts.communication_ms) {
    add("  in operators", parts.recorded_operators_ms, parts.operators_ms, true);
  }
  if (parts.communication_ms) {
    add("  in communication", parts.recorded_communication_ms, parts.communication_ms, false);
  }
  add("  between them", is_whole ? rest(original.step_ms, original.operators_ms) : std::nullopt,
      mean(total.gap_samples_ms), is_whole);
  std::string text = table.to_text();
  if (total.pace.mode == "asap" && is_whole) {
    text +=
        "  Without the original's host gaps; --pace recorded is the comparison of whole steps\n";
  }
  if (parts.operators_ms && !total.gap_samples_ms.empty()) {
    text +=
        "  Operators and gaps are from separate timing passes, one operator at a time: they need "
        "not "
        "add up to the iteration\n";
  }
  if (parts.communication_ms) {
    text +=
        "  Communication: of the original until it was issued, of the replay until it was "
        "complete\n";
  }
  if (!is_whole) {
    text += fmt::format(
        "  The replay is a part of the step ({}): operators are compared with the same ones\n",
        fmt::join(report.filters, ", "));
  }
  return {"Against the original, ms (as recorded, on its own machine)", std::move(text)};
}

Section pace_section(const RunFigures& total) {
  const et_schema::PaceUse& pace = total.pace;
  if (pace.mode == "asap") {
    return {};
  }
  TextTable table({{"", kRight}, {""}});
  table.add({with_commas(pace.paced), "operators per iteration with a recorded issue time"});
  const auto us = [](const Figure& figure) { return figure_text(figure) + " us"; };
  const auto ms = [](const Figure& figure) { return figure_text(figure) + " ms"; };
  table.add({with_commas(pace.on_time), "issues that kept their gap, all iterations"});
  table.add({us(pace.error_median_us), "after their time, median of these"});
  table.add({us(pace.error_p99_us), "99th percentile"});
  table.add({with_commas(pace.unready), "not ready when their gap was over"});
  table.add({ms(pace.unready_ms), "sum of their delays, per iteration"});
  table.add({us(pace.drift_median_us), "drift from the recorded starts, median"});
  table.add({us(pace.drift_p99_us), "99th percentile, either way"});
  table.add({us(pace.drift_end_us), "at the step's end"});
  table.add({with_commas(pace.late), "behind their recorded start: what ran before was slower"});
  table.add({ms(pace.late_ms), "mean delay of these"});
  if (pace.device_waits > 0) {
    table.add({with_commas(pace.device_waits), "recorded waits for the device between operators"});
    table.add({ms(pace.device_wait_recorded_ms), "sum of their recorded times"});
    table.add(pace.device_wait_ms ? std::vector<std::string>{ms(pace.device_wait_ms), "and here"}
                                  : std::vector<std::string>{"–", "here: no device to wait for"});
  }
  if (pace.probe_us) {
    table.add({us(pace.recorded_probe_us), "the host probe beside the original's steps"});
    table.add({us(pace.probe_us), "and beside the iterations, median"});
  }
  table.add({figure_text(pace.gap_factor), "times the recorded gaps"});
  if (pace.own_threads > 0) {
    table.add({with_commas(pace.own_threads), "recorded threads on threads of their own"});
  }
  return {"Pace: " + pace.mode, table.to_text()};
}

Section counters_section(const RunFigures& total) {
  const et_schema::SystemCounters& counters = total.counters;
  if (!counters.cpu_ms) {
    return {};
  }
  TextTable table({{"", kRight}, {""}});
  const auto add_figures = [&](bool from_hardware) {
    for (const auto& row : et_schema::kCounterFigures) {
      if (row.from_hardware == from_hardware) {
        table.add(
            {with_unit(figure_text(counters.*row.value), et_schema::unit_of(row.key)), row.text});
      }
    }
  };
  add_figures(false);
  if (total.measurement.foreign_cpus) {
    table.add({figure_text(total.measurement.foreign_cpus), "CPUs used by others meanwhile"});
  }
  if (counters.instructions) {
    add_figures(true);
  }
  const std::string hardware =
      counters.instructions ? "" : "  hardware: " + counters.hardware + "\n";
  return {"System, per iteration", table.to_text() + hardware};
}

}  // namespace understudy::cli
