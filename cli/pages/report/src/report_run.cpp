#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "cli/pages/document/table.h"
#include "report_parts.h"

namespace understudy::pages {
namespace {

using et_schema::RunFigures;
using Figure = std::optional<double>;

/// Times of a step's operators and communication, in the original and in the replay's timing
/// passes. Communication is separate: if asynchronous, the original's host shows the time until it
/// was issued, a timing pass the time until it is complete. Unset if unknown.
struct StepParts {
  std::optional<double> operators_ms;
  std::optional<double> recorded_operators_ms;
  std::optional<double> communication_ms;  ///< set only if there is any
  std::optional<double> recorded_communication_ms;
};

StepParts parts_of_step(const et_schema::RunFigures& total) {
  StepParts parts;
  for (const et_schema::OperatorTime& row : total.operators) {
    if (row.op_class == "communication") {
      parts.communication_ms = parts.communication_ms.value_or(0) + row.ms;
      if (row.recorded_ms) {
        parts.recorded_communication_ms =
            parts.recorded_communication_ms.value_or(0) + *row.recorded_ms;
      }
    } else {
      parts.operators_ms = parts.operators_ms.value_or(0) + row.ms;
    }
  }
  // As in the total, operators without a time are left out. A job's rows are its slowest rank's.
  if (total.original.operators_ms) {
    parts.recorded_operators_ms =
        std::max(0.0, *total.original.operators_ms - parts.recorded_communication_ms.value_or(0));
  }
  return parts;
}

Figure mean(const std::vector<double>& samples) {
  return samples.empty() ? std::nullopt
                         : Figure(std::accumulate(samples.begin(), samples.end(), 0.0) /
                                  static_cast<double>(samples.size()));
}

/// Compares the step with the original's. A partial replay has no ratio to the whole step.
Table original_table(const RunFigures& total, bool is_whole) {
  const et_schema::OriginalStep& original = total.original;
  const StepParts parts = parts_of_step(total);
  const bool has_communication = parts.communication_ms.has_value();
  Table table{
      .id = "original-table",
      .caption = "Against the original, ms; its times as recorded, on its own machine's host",
      .columns = {texts("what"), figures("original"), figures("replay"), ratios("ratio")}};
  const auto add = [&](const char* what, const Figure& recorded, const Figure& replayed,
                       bool is_alike) {
    const bool has_ratio = is_alike && recorded && replayed && *recorded > 0;
    table.rows.push_back({std::string(what), cell_of(recorded), cell_of(replayed),
                          has_ratio ? cell_of(Figure(*replayed / *recorded)) : Cell()});
  };
  add("the profiled step", original.step_ms, total.iteration_ms.median, is_whole);
  const Figure all_ms =
      parts.operators_ms || has_communication
          ? Figure(parts.operators_ms.value_or(0) + parts.communication_ms.value_or(0))
          : std::nullopt;
  add("of it in operators", original.operators_ms, all_ms, !has_communication);
  if (has_communication) {
    add("of these, no communication", parts.recorded_operators_ms, parts.operators_ms, true);
    add("of these, communication", parts.recorded_communication_ms, parts.communication_ms, false);
  }
  const Figure step_ms = original.unprofiled_ms ? original.unprofiled_ms : original.step_ms;
  const bool is_known = is_whole && step_ms && original.operators_ms;
  add("of it between them", is_known ? Figure(*step_ms - *original.operators_ms) : std::nullopt,
      mean(total.gap_samples_ms), is_whole);
  add("the unprofiled step", original.unprofiled_ms, total.iteration_ms.median, is_whole);
  return table;
}

Block counters_against_original(const ReportData& data) {
  constexpr std::size_t kShownInText = 30;
  Table table =
      table_at(data.json, "/counters_against_original",
               "Counters against the original (A), an iteration; no class: the whole step",
               columns_of<et_schema::ComparedCounter>(), kShownInText);
  if (!table.rows.empty()) {
    return table;
  }
  return Notes{
      {data.report.total.original.counters.empty()
           ? "The original's counters are not known: capture --counters records them, generate "
             "--counters reads them from profilers' files."
           : "The replay counted none of the original's counters: see replay --counters."}};
}

}  // namespace

Section iterations_section(const ReportData& data) {
  const et_schema::Report& report = data.report;
  const et_schema::IterationStats& stats = report.total.iteration_ms;
  const std::string of = et_schema::counted(stats.samples.size(), "iteration") +
                         (report.world_size > 1 ? ", of each the slowest rank" : "");
  Table times{.id = "iteration-times",
              .columns = {ids("iteration"), figures("iteration time")},
              .shown = 0,
              .shown_in_text = 0};
  for (const double ms : stats.samples) {
    times.rows.push_back({static_cast<std::uint64_t>(times.rows.size()), cell_of(Figure(ms))});
  }
  Plot distribution{.draw = Draw::kDistribution,
                    .caption = fmt::format(
                        "Times of {}; the line is the median, the band its 95 % interval.", of),
                    .columns = {1},
                    .unit = "ms"};
  if (stats.median_low && stats.median_high) {
    distribution.band = {*stats.median_low, *stats.median_high};
  }
  times.plots = {
      std::move(distribution),
      {.draw = Draw::kSeries, .caption = "The same in their order.", .columns = {1}, .unit = "ms"}};
  Section section{"iterations", "Iteration time: " + of,
                  blocks_at<et_schema::IterationStats>(data.json, "/iteration_ms")};
  section.blocks.insert(section.blocks.begin(), std::move(times));
  return section;
}

Section measurement_section(const ReportData& data) {
  Facts facts = {{"ended by", data.report.total.measurement.ended_by}};
  for (const std::vector<Block>& blocks :
       {blocks_at<et_schema::WaitUse>(data.json, "/waits"),
        blocks_at<et_schema::MeasurementUse>(data.json, "/measurement"),
        blocks_at<RunFigures>(data.json, "")}) {
    const Facts& more = std::get<Facts>(blocks.front());
    facts.insert(facts.end(), more.begin(), more.end());
  }
  return {"measurement", "How it was measured", {facts}};
}

Section original_section(const ReportData& data) {
  const RunFigures& total = data.report.total;
  if (!total.original.step_ms) {
    return {"original",
            "Against the original",
            {Notes{{"Not known: no profile of the original is linked to this benchmark."}},
             counters_against_original(data)}};
  }
  const bool is_whole = data.report.filters.empty();
  const StepParts parts = parts_of_step(total);
  Notes notes;
  if (total.pace.mode == "asap" && is_whole) {
    notes.texts.emplace_back(
        "Without the original's host gaps; --pace recorded is the comparison of whole steps.");
  }
  if (parts.communication_ms) {
    notes.texts.emplace_back(
        "Communication: of the original until it was issued, of the replay until it was complete.");
  }
  if (parts.operators_ms && !total.gap_samples_ms.empty()) {
    notes.texts.emplace_back(
        "Operators and gaps are from separate timing passes, one operator at a time: they need not "
        "add up to the iteration.");
  }
  if (!is_whole) {
    notes.texts.push_back(fmt::format(
        "The replay is a part of the step ({}): operators are held against the same ones.",
        fmt::join(data.report.filters, ", ")));
  }
  return {"original",
          "Against the original",
          {original_table(total, is_whole), notes, counters_against_original(data)}};
}

Section pace_section(const ReportData& data) {
  const et_schema::PaceUse& pace = data.report.total.pace;
  if (pace.mode == "asap") {
    return {"pace",
            "Pace",
            {Notes{{"Each operator was issued as soon as the one before it was done: the "
                    "original's host gaps are not in these times (replay --pace)."}}}};
  }
  return {"pace", "Pace", blocks_at<et_schema::PaceUse>(data.json, "/pace")};
}

Section graphs_section(const ReportData& data) {
  return {"graphs", "CUDA graphs, an iteration",
          blocks_at<et_schema::GraphUse>(data.json, "/graphs")};
}

Section system_section(const ReportData& data) {
  return {"system", "System, an iteration", {iteration_counters(data)}};
}

Section environment_section(const ReportData& data) {
  Facts facts;
  const auto add = [&facts](const std::string& name, const Json& value) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    facts.push_back({name, value == 0 ? "" : text});
  };
  for (const auto& [key, value] : data.json.at("environment").items()) {
    std::string name = key;
    std::ranges::replace(name, '_', ' ');
    if (value.is_object()) {
      name.pop_back();  // "versions": "version torch"
      for (const auto& [below, of] : value.items()) {
        add(name + " " + below, of);
      }
    } else if (value.is_array()) {
      add(name, fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), ", ")));
    } else {
      add(name, value);
    }
  }
  return {"environment", "Environment", {facts}};
}

}  // namespace understudy::pages
