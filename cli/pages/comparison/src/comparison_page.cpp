#include "cli/pages/comparison/comparison_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "cli/pages/document/walked.h"
#include "comparison_figures.h"
#include "comparison_parts.h"
#include "et_schema/base/json_record.h"
#include "fleet/comparer/assessment.h"

namespace understudy::pages {
namespace {

using comparer::Comparison;
using comparer::RowKind;
using comparer::Run;
using Json = nlohmann::ordered_json;

constexpr int kComparisonVersion = 1;

/// Returns the JSON of docs/formats.md, "compare --format json".
Json json_of(const Comparison& comparison, const std::vector<Run>& a, const std::vector<Run>& b,
             const std::optional<comparer::DeviceComparison>& devices) {
  et_schema::JsonWriter json;
  json("format", "understudy-comparison");
  json("version", kComparisonVersion);
  json("a", a);
  json("b", b);
  json("environment_differences", comparison.differences);
  json("is_alike", comparison.is_alike);
  json("switches_per_s", comparison.switches_per_s);
  json("was_busy", comparison.was_busy);
  json("speed_probe", comparison.speed_probe);
  json("samples_left_out", comparison.samples_left_out);
  json("rows", comparison.rows);
  json("counters", comparison.counters);
  if (devices) {
    json("device", *devices);
  }
  return json.take();
}

std::vector<KeyFigure> figures_of(const Comparison& comparison, const Json& json) {
  std::vector<KeyFigure> figures;
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const comparer::Row& row = comparison.rows[i];
    if (row.kind != RowKind::kIteration) {
      continue;
    }
    const std::string at = fmt::format("/rows/{}", i);
    if (row.ratio) {
      figures.push_back({fact_at(json, at + "/ratio/value", "Iteration, B ÷ A", CellKind::kRatio),
                         fmt::format("95 %: {:.3f} … {:.3f}", row.ratio->low, row.ratio->high)});
    }
    figures.push_back({fact_at(json, at + "/a_ms", "A", CellKind::kFigure, "ms"), "an iteration"});
    figures.push_back({fact_at(json, at + "/b_ms", "B", CellKind::kFigure, "ms"), "an iteration"});
  }
  if (comparison.speed_probe) {
    figures.push_back(
        {fact_at(json, "/speed_probe/value", "A fixed piece of work, B ÷ A", CellKind::kRatio),
         "the cores' clock"});
  }
  return figures;
}

/// Writes the iteration times of all runs of a side into a column of the table.
void add_samples(Table& table, std::size_t column, const std::vector<Run>& runs) {
  std::size_t place = 0;
  for (const Run& run : runs) {
    for (const comparer::Series& row : run.rows) {
      if (row.kind != RowKind::kIteration) {
        continue;
      }
      for (const double ms : row.samples_ms) {
        if (place == table.rows.size()) {
          table.rows.push_back({place, Cell(), Cell()});
        }
        table.rows[place++][column] = cell_of(std::optional(ms));
      }
    }
  }
}

Table iteration_times(const std::vector<Run>& a, const std::vector<Run>& b) {
  Table table{.id = "iteration-times", .columns = {ids("sample"), figures("A"), figures("B")}};
  add_samples(table, 1, a);
  add_samples(table, 2, b);
  return drawn(std::move(table),
               {.draw = Draw::kDistribution,
                .caption = "Iteration times of all runs of each side; lines are medians. The sides "
                           "are held against each other by their fastest iterations.",
                .columns = {1, 2},
                .unit = "ms"});
}

Section environment_section(const Comparison& comparison) {
  Table table{.id = "environment-table",
              .caption = comparison.is_alike ? "Fields in which any two runs differ"
                                             : "Fields in which any two runs differ: times need "
                                               "not be alike",
              .columns = {texts("field"), texts("A", "a"), texts("B", "b"), {"what it means"}},
              .at = "/environment_differences"};
  for (const comparer::EnvironmentDifference& row : comparison.differences) {
    table.rows.push_back({row.field, row.a, row.b,
                          row.weight == comparer::Weight::kOther     ? "times need not be alike"
                          : row.weight == comparer::Weight::kVersion ? "another version"
                                                                     : "should not matter"});
  }
  return {"environment",
          "Environments",
          {table.rows.empty() ? Block(Notes{{"They differ in nothing that reports tell."}})
                              : Block(table)}};
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
                          iterations, cell_of(run.work.tflop_per_s), cell_of(run.work.mfu),
                          run.environment.date_utc, run.environment.device, more});
  }
}

Section runs_section(const std::vector<Run>& a, const std::vector<Run>& b) {
  Table table{.id = "run-table",
              .caption = "What was compared",
              .columns = {texts("file"),
                          texts("side"),
                          texts("benchmark"),
                          counts("iterations"),
                          figures("TFLOP/s"),
                          {"MFU", CellKind::kPercent},
                          texts("date"),
                          texts("device"),
                          texts("more")}};
  add_runs(table, "A", a);
  add_runs(table, "B", b);
  return {"runs", "Runs", {without_unknown(std::move(table))}};
}

/// Returns the first run's file without folders, unless the other side's has the same name.
std::string files_text(const std::vector<Run>& runs, const std::vector<Run>& others) {
  const std::filesystem::path file(runs.front().file);
  const std::filesystem::path other(others.front().file);
  const std::string name = (file.filename() == other.filename() ? file : file.filename()).string();
  return runs.size() == 1 ? name : fmt::format("{} and {} more", name, runs.size() - 1);
}

/// Says first what profiles do not tell of their devices.
void add_doubts(const char* side, const std::vector<Run>& runs, std::string& sentence) {
  for (const Run& run : runs) {
    const std::string doubts = et_schema::doubt_text(run.doubts);
    sentence.insert(0, doubts.empty() ? "" : fmt::format("{}: {} ", side, doubts));
  }
}

}  // namespace

Page comparison_page(const Comparison& comparison, const std::vector<Run>& a,
                     const std::vector<Run>& b, std::size_t top,
                     const std::optional<comparer::DeviceComparison>& devices) {
  const Json json = json_of(comparison, a, b, devices);
  Page page;
  const std::string& benchmark = b.empty() ? std::string() : b.front().environment.benchmark;
  page.title = benchmark.empty() ? "B held against A" : benchmark + ": B held against A";
  page.subtitle = fmt::format("A: {}; B: {}", files_text(a, b), files_text(b, a));
  page.verdict = comparer::verdict_of(comparison, a, b, devices);
  add_doubts("B", b, page.verdict.sentence);
  add_doubts("A", a, page.verdict.sentence);
  page.figures = figures_of(comparison, json);
  page.sections = {{"counters",
                    "Counters",
                    {table_at(json, "/counters", "Counters, an iteration; no class: the whole step",
                              columns_of<et_schema::ComparedCounter>(), top)}},
                   runs_section(a, b),
                   environment_section(comparison)};
  const std::vector<Section> rows =
      rows_sections(comparison, json, a.front().by_device, top, iteration_times(a, b));
  page.sections.insert(page.sections.begin(), rows.begin(), rows.end());
  if (devices) {
    add_device_sections(json, top, page);
  }
  return made_by("compare", std::move(page), json, "comparison.json", 1);
}

}  // namespace understudy::pages
