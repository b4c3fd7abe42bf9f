#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "common/step_parts.h"
#include "pages/plots/plots.h"
#include "pages/plots/series.h"
#include "parts.h"

namespace understudy::pages {
namespace {

using et_schema::OperatorTime;
using et_schema::RankReport;
using et_schema::Report;
using et_schema::RunFigures;
using Figure = std::optional<double>;

std::string of_iteration(const Report& report) {
  return report.world_size > 1 ? "an iteration (counts of all ranks, times of the slowest)"
                               : "an iteration";
}

/// The two times that are held against each other. Of a device both are its own: what the host
/// took there was issuing, in the original, and waiting, in the replay.
struct Held {
  Figure here_ms;
  Figure recorded_ms;
};

Held held_of(const OperatorTime& row, bool has_device) {
  const Figure recorded_ms = row.recorded_device_ms ? row.recorded_device_ms : row.recorded_ms;
  return {has_device && recorded_ms ? row.device_ms.value_or(0) : row.ms, recorded_ms};
}

bool has_device_times(const Report& report) {
  return std::ranges::any_of(report.total.operators,
                             [](const OperatorTime& row) { return row.device_ms.has_value(); });
}

/// Operators of a class. Its recorded time is known where all of its operators' are.
struct ClassTime {
  std::string name;
  std::uint64_t count = 0;
  double ms = 0;
  Figure here_ms = 0.0;
  Figure recorded_ms = 0.0;
};

Figure sum_of(const Figure& a, const Figure& b) {
  return a && b ? Figure(*a + *b) : std::nullopt;
}

std::vector<ClassTime> classes_of(const std::vector<OperatorTime>& operators, bool has_device) {
  std::map<std::string, ClassTime> by_name;
  for (const OperatorTime& row : operators) {
    ClassTime& sum = by_name[row.op_class];
    sum.name = row.op_class;
    sum.count += row.count;
    sum.ms += row.ms;
    const Held held = held_of(row, has_device);
    sum.here_ms = sum_of(sum.here_ms, held.here_ms);
    sum.recorded_ms = sum_of(sum.recorded_ms, held.recorded_ms);
  }
  std::vector<ClassTime> classes;
  for (auto& [name, row] : by_name) {
    classes.push_back(std::move(row));
  }
  std::ranges::stable_sort(classes,
                           [](const ClassTime& a, const ClassTime& b) { return a.ms > b.ms; });
  return classes;
}

double sum_ms(const std::vector<OperatorTime>& operators) {
  return std::accumulate(operators.begin(), operators.end(), 0.0,
                         [](double sum, const OperatorTime& row) { return sum + row.ms; });
}

Figure mean(const std::vector<double>& samples) {
  return samples.empty() ? std::nullopt
                         : Figure(std::accumulate(samples.begin(), samples.end(), 0.0) /
                                  static_cast<double>(samples.size()));
}

Cell ratio_of(const Figure& value, const Figure& base) {
  return value && base && *base > 0 ? cell_of(Figure(*value / *base)) : Cell();
}

Markup class_bars(const std::vector<ClassTime>& classes, bool has_recorded) {
  Bars plot{"Time by class of operator, ms an iteration.", "ms", {}, {}};
  plot.series = has_recorded ? std::vector<std::string>{"replay", "recorded"}
                             : std::vector<std::string>{"replay"};
  constexpr std::size_t kMostRows = 24;
  for (const ClassTime& row : classes) {
    if (plot.rows.size() == kMostRows) {
      break;
    }
    BarRow bar{row.name, {row.here_ms}};
    if (has_recorded) {
      bar.values.push_back(row.recorded_ms);
    }
    plot.rows.push_back(std::move(bar));
  }
  return bars(plot);
}

Markup end_of(const RunFigures& total) {
  const et_schema::MeasurementUse& use = total.measurement;
  std::vector<Fact> facts;
  std::string end = use.ended_by;
  if (use.until_percent) {
    end += fmt::format(" (the median was to be known to ± {} %)", *use.until_percent);
  }
  facts.push_back({"ended by", text(end)});
  if (!use.restore_reason.empty()) {
    facts.push_back({"resets of inputs and weights",
                     text(fmt::format("{} ({}; {})", use.restores,
                                      use.restore_every == 0
                                          ? "never"
                                          : fmt::format("every {} iterations", use.restore_every),
                                      use.restore_reason))});
  }
  if (total.first_iteration_ms) {
    facts.push_back(
        {"the first iteration, checked",
         shown("/first_iteration_ms", total.first_iteration_ms, CellKind::kFigure, "ms")});
  }
  if (total.startup_ms) {
    facts.push_back({"from the start to the first iteration",
                     shown("/startup_ms", total.startup_ms, CellKind::kFigure, "ms")});
  }
  return facts_markup(facts);
}

}  // namespace

Section iterations_section(const Report& report) {
  const et_schema::IterationStats& stats = report.total.iteration_ms;
  Section section{"iterations", "Iteration time", {}};
  if (stats.samples.empty()) {
    return section;
  }
  const std::string whose = report.world_size > 1 ? ", of each the slowest rank" : "";
  section.body += histogram({fmt::format("Times of {}{}; the line is the median, the band its 95 % "
                                         "interval.",
                                         counted(stats.samples.size(), "iteration"), whose),
                             "ms",
                             {{"iterations", stats.samples, stats.median_low, stats.median_high}}});
  Series over{.id = "iteration-series",
              .caption = "The same in their order.",
              .unit = "ms",
              .place = "iteration"};
  over.lines = {{"iteration time", {stats.samples.begin(), stats.samples.end()}}};
  section.body += series(over);
  std::vector<Fact> facts;
  struct Named {
    const char* name;
    const char* key;
    Figure value;
  };
  for (const auto& [name, key, value] :
       {Named{"fastest", "min", stats.min}, Named{"10th percentile", "p10", stats.p10},
        Named{"median", "median", stats.median},
        Named{"its 95 % interval, from", "median_low", stats.median_low},
        Named{"to", "median_high", stats.median_high}, Named{"90th percentile", "p90", stats.p90},
        Named{"99th percentile", "p99", stats.p99}}) {
    facts.push_back(
        {name, shown(fmt::format("/iteration_ms/{}", key), value, CellKind::kFigure, "ms")});
  }
  section.body += facts_markup(facts) + end_of(report.total) + warnings_of(report, "iteration_ms");
  return section;
}

Section original_section(const Report& report) {
  const RunFigures& total = report.total;
  const et_schema::OriginalStep& original = total.original;
  Section section{"original", "Against the original", {}};
  if (!original.step_ms) {
    section.body =
        element("p", {}, "Not known: no profile of the original is linked to this benchmark.");
    return section;
  }
  const bool is_whole = report.filters.empty();
  const cli::StepParts parts = cli::parts_of_step(total);
  Table table{.id = "original-table",
              .caption = "ms; the original's times as they were recorded, on its own machine",
              .columns = {{"what"},
                          {"original", CellKind::kFigure},
                          {"replay", CellKind::kFigure},
                          {"ratio", CellKind::kRatio}}};
  const auto add = [&table](const char* what, const Figure& recorded, const Figure& replayed,
                            bool is_alike) {
    table.rows.push_back({std::string(what), cell_of(recorded), cell_of(replayed),
                          is_alike ? ratio_of(replayed, recorded) : Cell()});
  };
  const Figure gap =
      original.operators_ms ? Figure(*original.step_ms - *original.operators_ms) : std::nullopt;
  add("the unprofiled step", original.unprofiled_ms, total.iteration_ms.median, is_whole);
  add("the profiled step", original.step_ms, total.iteration_ms.median, is_whole);
  if (parts.operators_ms || !parts.communication_ms) {
    add("in operators", parts.recorded_operators_ms, parts.operators_ms, true);
  }
  if (parts.communication_ms) {
    add("in communication", parts.recorded_communication_ms, parts.communication_ms, false);
  }
  add("between them", is_whole ? gap : std::nullopt, mean(total.gap_samples_ms), is_whole);
  section.body = table_markup(table);
  if (total.pace.mode == "asap" && is_whole) {
    section.body +=
        element("p", {},
                "Without the original's host gaps; --pace recorded is the comparison of "
                "whole steps.");
  }
  if (parts.communication_ms) {
    section.body += element("p", {},
                            "Communication: of the original until it was issued, of the replay "
                            "until it was complete.");
  }
  if (parts.operators_ms && !total.gap_samples_ms.empty()) {
    section.body += element("p", {},
                            "Operators and gaps are from separate timing passes, one operator at a "
                            "time: they need not add up to the iteration.");
  }
  if (!is_whole) {
    section.body += element(
        "p", {},
        fmt::format("The replay is a part of the step ({}): operators are held against the same "
                    "ones.",
                    fmt::join(report.filters, ", ")));
  }
  return section;
}

Section classes_section(const Report& report) {
  Section section{"classes", "Time by class", {}};
  const std::vector<ClassTime> classes =
      classes_of(report.total.operators, has_device_times(report));
  const bool has_recorded = std::ranges::any_of(
      report.total.operators, [](const OperatorTime& row) { return row.recorded_ms.has_value(); });
  const double all_ms = sum_ms(report.total.operators);
  Table table{
      .id = "class-table",
      .caption = "Classes of operators, ms " + of_iteration(report) +
                 (has_recorded ? "; recorded: in the original, where all of a class is known; of a "
                                 "device its own time, in the bars and the ratio"
                               : "; no recorded times are linked"),
      .columns = {{"class"},
                  {"calls", CellKind::kCount},
                  {"replay ms", CellKind::kFigure},
                  {"share", CellKind::kShare}}};
  if (has_recorded) {
    table.columns.push_back({"recorded ms", CellKind::kFigure});
    table.columns.push_back({"replay ÷ recorded", CellKind::kRatio});
  }
  for (const ClassTime& row : classes) {
    std::vector<Cell> cells = {row.name, row.count, cell_of(Figure(row.ms)),
                               cell_of(Figure(row.ms / all_ms))};
    if (has_recorded) {
      cells.push_back(cell_of(row.recorded_ms));
      cells.push_back(ratio_of(row.here_ms, row.recorded_ms));
    }
    table.rows.push_back(std::move(cells));
  }
  section.body = class_bars(classes, has_recorded) + table_markup(table);
  return section;
}

Section operators_section(const Report& report) {
  const std::vector<OperatorTime>& operators = report.total.operators;
  Section section{"operators", "Operators", {}};
  const bool has_device = has_device_times(report);
  const bool was_on_device = std::ranges::any_of(
      operators, [](const OperatorTime& row) { return row.recorded_device_ms.has_value(); });
  const double all_ms = sum_ms(operators);
  Table table{.id = "operator-table",
              .caption = "Operators, ms " + of_iteration(report),
              .columns = {{"operator", CellKind::kText, "name"},
                          {"class", CellKind::kText, "class"},
                          {"calls", CellKind::kCount, "count"},
                          {"ms", CellKind::kFigure, "ms"},
                          {"share", CellKind::kShare},
                          {"recorded ms", CellKind::kFigure, "recorded_ms"},
                          {"÷ recorded", CellKind::kRatio}},
              .at = "/operators"};
  if (has_device) {
    table.columns.push_back({"device ms", CellKind::kFigure, "device_ms"});
  }
  if (was_on_device) {
    table.columns.push_back({"recorded device ms", CellKind::kFigure, "recorded_device_ms"});
  }
  for (const OperatorTime& row : operators) {
    const Held held = held_of(row, has_device);
    std::vector<Cell> cells = {row.name,
                               row.op_class,
                               row.count,
                               cell_of(Figure(row.ms)),
                               cell_of(Figure(row.ms / all_ms)),
                               cell_of(row.recorded_ms),
                               ratio_of(held.here_ms, held.recorded_ms)};
    if (has_device) {
      cells.push_back(cell_of(row.device_ms));
    }
    if (was_on_device) {
      cells.push_back(cell_of(row.recorded_device_ms));
    }
    table.rows.push_back(std::move(cells));
  }
  section.body = table_markup(table) + warnings_of(report, "operators");
  return section;
}

Section collectives_section(const Report& report) {
  Section section{"collectives", "Collectives", {}};
  Table table{
      .id = "collective-table",
      .caption = "Collectives, an iteration; bytes of one call, bandwidths as in nccl-tests",
      .columns = {{"collective", CellKind::kText, "name"},
                  {"group", CellKind::kText, "group"},
                  {"ranks", CellKind::kCount, "group_size"},
                  {"calls", CellKind::kCount, "count"},
                  {"bytes", CellKind::kBytes, "bytes"},
                  {"median µs", CellKind::kFigure, "median_us"},
                  {"moving µs", CellKind::kFigure, "moving_us",
                   "what the call took on its last rank"},
                  {"waiting µs", CellKind::kFigure, "waiting_us", "for the last rank"},
                  {"algbw GB/s", CellKind::kFigure, "algbw_gb_per_s"},
                  {"busbw GB/s", CellKind::kFigure, "busbw_gb_per_s"}},
      .at = "/collectives"};
  for (const et_schema::CollectiveTime& row : report.total.collectives) {
    table.rows.push_back({row.name, row.group, static_cast<std::uint64_t>(row.group_size),
                          row.count, row.bytes, cell_of(row.median_us), cell_of(row.moving_us),
                          cell_of(row.waiting_us), cell_of(row.algbw_gb_per_s),
                          cell_of(row.busbw_gb_per_s)});
  }
  section.body = table_markup(table);
  if (!section.body.empty()) {
    section.body += warnings_of(report, "collectives");
  }
  return section;
}

Section ranks_section(const Report& report) {
  Section section{"ranks", "Ranks", {}};
  if (report.ranks.size() < 2) {
    return section;
  }
  Intervals plot{"Iteration time by rank: median, and from the 10th to the 90th percentile.", "ms"};
  Table table{.id = "rank-table",
              .caption = "Ranks",
              .columns = {{"rank", CellKind::kCount},
                          {"median ms", CellKind::kFigure},
                          {"p99 ms", CellKind::kFigure},
                          {"coverage", CellKind::kPercent},
                          {"selected", CellKind::kCount},
                          {"mismatches", CellKind::kCount},
                          {"NaN", CellKind::kCount},
                          {"Inf", CellKind::kCount},
                          {"subnormal", CellKind::kCount},
                          {"peak", CellKind::kBytes}}};
  constexpr std::size_t kMostDrawn = 64;
  for (const RankReport& rank : report.ranks) {
    const et_schema::IterationStats& stats = rank.iteration_ms;
    if (stats.median && plot.rows.size() < kMostDrawn) {
      plot.rows.push_back(
          {fmt::format("rank {}", rank.rank), *stats.median, *stats.p10, *stats.p90});
    }
    table.rows.push_back({static_cast<std::uint64_t>(rank.rank), cell_of(stats.median),
                          cell_of(stats.p99), cell_of(rank.coverage.count), rank.coverage.selected,
                          rank.output_mismatches, rank.values.nan, rank.values.inf,
                          rank.values.subnormal, rank.memory.peak_bytes});
  }
  if (report.ranks.size() > kMostDrawn) {
    plot.caption += fmt::format(" The first {} are drawn.", kMostDrawn);
  }
  section.body = intervals(plot) + table_markup(table);
  return section;
}

}  // namespace understudy::pages
