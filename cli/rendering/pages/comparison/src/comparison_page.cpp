#include "pages/comparison/comparison_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "pages/plots/plots.h"
#include "rows_sections.h"

namespace understudy::pages {
namespace {

using comparer::Comparison;
using comparer::Row;
using comparer::RowKind;
using comparer::Run;
using comparer::Verdict;

Tone tone_of(const Comparison& comparison) {
  const auto has = [&](Verdict verdict) {
    return std::ranges::any_of(comparison.rows,
                               [&](const Row& row) { return row.verdict == verdict; });
  };
  if (has(Verdict::kSlower)) {
    return Tone::kBad;
  }
  if (has(Verdict::kFaster)) {
    return Tone::kGood;
  }
  return comparison.was_busy ? Tone::kAttention : Tone::kNeutral;
}

std::vector<std::string> findings_of(const Comparison& comparison, const std::string& advice) {
  std::vector<std::string> findings;
  if (comparison.was_busy) {
    findings.push_back(fmt::format(
        "The machine was busy: {:.0f} involuntary context switches a second and thread; "
        "no change can be shown.",
        comparison.switches_per_s.value_or(0)));
  }
  if (!comparison.is_alike) {
    findings.emplace_back("The environments differ, and times with them.");
  }
  if (comparison.samples_left_out > 0) {
    findings.push_back(fmt::format("{} samples are no finite number and were left out.",
                                   comparison.samples_left_out));
  }
  if (!advice.empty()) {
    findings.push_back(advice);
  }
  return findings;
}

/// A figure of the rows of the comparison's JSON.
Markup shown(std::size_t row, const char* key, const std::optional<double>& value, CellKind kind,
             const char* unit) {
  const Cell cell = cell_of(value);
  if (std::holds_alternative<std::monostate>(cell)) {
    return text("–");
  }
  return figure_at(fmt::format("/rows/{}/{}", row, key), fmt::format("{}", *value),
                   cell_text(cell, kind)) +
         text(unit);
}

std::vector<KeyFigure> figures_of(const Comparison& comparison) {
  std::vector<KeyFigure> figures;
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const Row& row = comparison.rows[i];
    if (row.kind != RowKind::kIteration) {
      continue;
    }
    if (row.ratio) {
      figures.push_back({"Iteration, B ÷ A",
                         shown(i, "ratio/value", row.ratio->value, CellKind::kRatio, ""),
                         fmt::format("95 %: {:.3f} … {:.3f}", row.ratio->low, row.ratio->high)});
    }
    figures.push_back({"A", shown(i, "a_ms", row.a_ms, CellKind::kFigure, " ms"), "an iteration"});
    figures.push_back({"B", shown(i, "b_ms", row.b_ms, CellKind::kFigure, " ms"), "an iteration"});
  }
  if (comparison.speed_probe) {
    figures.push_back(
        {"A fixed piece of work, B ÷ A",
         figure_at("/speed_probe/value", fmt::format("{}", comparison.speed_probe->value),
                   fmt::format("{:.3f}", comparison.speed_probe->value)),
         "the cores' clock"});
  }
  return figures;
}

std::vector<double> iteration_samples(const std::vector<Run>& runs) {
  std::vector<double> samples;
  for (const Run& run : runs) {
    for (const comparer::Series& row : run.rows) {
      if (row.kind == RowKind::kIteration) {
        samples.insert(samples.end(), row.samples_ms.begin(), row.samples_ms.end());
      }
    }
  }
  return samples;
}

Section step_section(const Comparison& comparison, const std::vector<Run>& a,
                     const std::vector<Run>& b) {
  const Markup times = histogram(
      {"Iteration times of all runs of each side; lines are medians. The sides are held against "
       "each other by their fastest iterations.",
       "ms",
       {{"A", iteration_samples(a), {}, {}}, {"B", iteration_samples(b), {}, {}}}});
  return {"step", "Iteration time", times + step_table(comparison)};
}

Section environment_section(const Comparison& comparison) {
  Table table{.id = "environment-table",
              .caption = comparison.is_alike ? "Fields in which any two runs differ"
                                             : "Fields in which any two runs differ: times need "
                                               "not be alike",
              .columns = {{"field", CellKind::kText, "field"},
                          {"A", CellKind::kText, "a"},
                          {"B", CellKind::kText, "b"},
                          {"what it means"}},
              .at = "/environment_differences"};
  for (const comparer::EnvironmentDifference& row : comparison.differences) {
    table.rows.push_back({row.field, row.a, row.b,
                          row.weight == comparer::Weight::kOther     ? "times need not be alike"
                          : row.weight == comparer::Weight::kVersion ? "another version"
                                                                     : "should not matter"});
  }
  return {"environment", "Environments",
          table.rows.empty() ? element("p", {}, "They differ in nothing that reports tell.")
                             : table_markup(table)};
}

void add_runs(Table& table, const char* side, const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    std::uint64_t iterations = 0;
    for (const comparer::Series& row : run.rows) {
      iterations = row.kind == RowKind::kIteration ? row.samples_ms.size() : iterations;
    }
    std::string more = fmt::format("{}", fmt::join(run.filters, ", "));
    if (run.pace != "asap") {
      more += (more.empty() ? "pace " : ", pace ") + run.pace;
    }
    if (!run.interrupted_by.empty()) {
      more += (more.empty() ? "not complete: ended by " : ", not complete: ended by ") +
              run.interrupted_by;
    }
    table.rows.push_back({run.file, std::string(side),
                          run.is_profile ? std::string("profile") : run.environment.benchmark,
                          iterations, run.environment.date_utc, run.environment.device, more});
  }
}

Section runs_section(const std::vector<Run>& a, const std::vector<Run>& b) {
  Table table{.id = "run-table",
              .caption = "What was compared",
              .columns = {{"file"},
                          {"side"},
                          {"benchmark"},
                          {"iterations", CellKind::kCount},
                          {"date"},
                          {"device"},
                          {"more"}}};
  add_runs(table, "A", a);
  add_runs(table, "B", b);
  return {"runs", "Runs", table_markup(table)};
}

}  // namespace

Page comparison_page(const Comparison& comparison, const std::vector<Run>& a,
                     const std::vector<Run>& b, const ComparisonTexts& texts) {
  Page page;
  const std::string& benchmark = b.empty() ? std::string() : b.front().environment.benchmark;
  page.title = benchmark.empty() ? "B held against A" : benchmark + ": B held against A";
  page.subtitle =
      fmt::format("A: {}{}; B: {}{}", a.front().file,
                  a.size() > 1 ? fmt::format(" and {} more", a.size() - 1) : "", b.front().file,
                  b.size() > 1 ? fmt::format(" and {} more", b.size() - 1) : "");
  page.tone = tone_of(comparison);
  page.verdict = texts.verdict;
  page.findings = findings_of(comparison, texts.advice);
  page.figures = figures_of(comparison);
  page.sections = {step_section(comparison, a, b),  classes_section(comparison),
                   operators_section(comparison),   collectives_section(comparison),
                   environment_section(comparison), runs_section(a, b)};
  page.data = texts.json;
  page.data_name = "comparison.json";
  page.footer = "Made by Understudy's compare.";
  return page;
}

}  // namespace understudy::pages
