#include "pages/prediction/prediction_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "common/figures.h"
#include "pages/plots/plots.h"

namespace understudy::pages {
namespace {

using cli::figure_text;
using et_schema::PredictedBreakdown;
using et_schema::PredictedRank;
using et_schema::Prediction;
using Figure = std::optional<double>;

Cell number_cell(double number) {
  return cell_of(Figure(number));
}
Cell ratio_cell(double value, double base) {
  return base > 0 ? number_cell(value / base) : Cell();
}

std::string device_of(const Prediction& prediction) {
  const auto device = prediction.platform.find("device");
  return device == prediction.platform.end() ? "the recorded platform" : device->second;
}

/// The original's step on the slowest rank.
Figure recorded_ms(const Prediction& prediction) {
  for (const PredictedRank& rank : prediction.ranks) {
    if (rank.rank == prediction.slowest_rank && rank.recorded_step) {
      return rank.recorded_step->unprofiled_ms.value_or(rank.recorded_step->recorded_ms);
    }
  }
  return std::nullopt;
}

std::string verdict_of(const Prediction& prediction) {
  const et_schema::PredictedTime& time = prediction.iteration_ms;
  std::string text = fmt::format(
      "An iteration on {} rank{} of {} would take {} ms, 90 % within {} to {}; bound by {}",
      prediction.world_size, prediction.world_size == 1 ? "" : "s", device_of(prediction),
      figure_text(time.ms), figure_text(time.low), figure_text(time.high), prediction.bound_by);
  if (const Figure recorded = recorded_ms(prediction); recorded && *recorded > 0) {
    text += fmt::format("; {:.3f} times the original's {} ms", time.ms / *recorded,
                        figure_text(recorded));
  }
  if (const Figure& without = prediction.without_what_if_ms) {
    text += fmt::format("; without the what-ifs {} ms: {:+.2f} %", figure_text(without),
                        cli::kPercent * (time.ms / *without - 1));
  }
  return text + "; nobody ran this.";
}

/// Parts of an iteration, in the order of tables and bars.
struct Part {
  const char* name;
  double PredictedBreakdown::*ms;
};
constexpr std::array<Part, 4> kParts = {{
    {"compute", &PredictedBreakdown::compute},
    {"exposed communication", &PredictedBreakdown::exposed_communication},
    {"host bound", &PredictedBreakdown::host_bound},
    {"idle", &PredictedBreakdown::idle},
}};

Table what_if_table(const Prediction& prediction, const PredictionPageOptions& options) {
  Table table{.id = "what-if-table",
              .caption = "What-ifs, sums over all ranks",
              .columns = {texts("what if"), texts("changes"), counts("instructions"),
                          figures("before ms"), figures("after ms")}};
  for (const et_schema::PredictedChange& change : prediction.what_if) {
    et_schema::PredictedChange::Row sum{"all of these", 0, 0, 0};
    for (const et_schema::PredictedChange::Row& row : change.rows) {
      sum.count += row.count;
      sum.before_ms += row.before_ms;
      sum.after_ms += row.after_ms;
    }
    std::vector<et_schema::PredictedChange::Row> rows = {sum};
    if (options.explain) {
      const std::size_t shown = std::min(change.rows.size(), options.top);
      rows.insert(rows.end(), change.rows.begin(),
                  change.rows.begin() + static_cast<std::ptrdiff_t>(shown));
    }
    for (const et_schema::PredictedChange::Row& row : rows) {
      table.rows.push_back({change.what_if, row.name, row.count, number_cell(row.before_ms),
                            number_cell(row.after_ms)});
    }
    if (options.explain && change.rows.size() > options.top) {
      table.rows.push_back({change.what_if,
                            fmt::format("… {} more", change.rows.size() - options.top), Cell(),
                            Cell(), Cell()});
    }
  }
  return table;
}

Section parts_section(const Prediction& prediction) {
  Bars plot{"Where an iteration goes, ms.", "ms", {}, {}};
  Table table{.id = "part-table",
              .caption = fmt::format("Iteration of rank {}{}", prediction.slowest_rank,
                                     prediction.world_size == 1 ? "" : ", the slowest"),
              .columns = {texts("part"), figures("ms"), shares("share")}};
  double sum = 0;
  for (const Part& part : kParts) {
    plot.series.emplace_back(part.name);
    sum += prediction.breakdown_ms.*part.ms;
  }
  for (const Part& part : kParts) {
    const double ms = prediction.breakdown_ms.*part.ms;
    table.rows.push_back({std::string(part.name), number_cell(ms), ratio_cell(ms, sum)});
  }
  constexpr std::size_t kMostDrawn = 16;
  for (const PredictedRank& rank : prediction.ranks) {
    if (plot.rows.size() < kMostDrawn) {
      BarRow& bar = plot.rows.emplace_back(BarRow{fmt::format("rank {}", rank.rank), {}});
      for (const Part& part : kParts) {
        bar.values.emplace_back(rank.breakdown_ms.*part.ms);
      }
    }
  }
  return {"parts", "Where the time goes", {bars(plot), table}};
}

Section ranks_section(const Prediction& prediction, std::size_t top) {
  const bool has_steps = std::ranges::any_of(
      prediction.ranks, [](const PredictedRank& rank) { return rank.recorded_step.has_value(); });
  if (prediction.ranks.size() < 2 && !has_steps) {
    return {"ranks", "Ranks", {}};
  }
  Table table{.id = "rank-table",
              .caption = "Ranks, ms an iteration",
              .columns = {counts("rank"), figures("iteration")},
              .shown_in_text = top};
  for (const Part& part : kParts) {
    table.columns.push_back(figures(part.name));
  }
  if (has_steps) {
    table.columns.insert(table.columns.end(),
                         {figures("profiled step"), figures("simulated"), ratios("÷ profiled"),
                          figures("unprofiled step"), ratios("predicted ÷ unprofiled")});
  }
  for (const PredictedRank& rank : prediction.ranks) {
    std::vector<Cell> cells = {static_cast<std::uint64_t>(rank.rank),
                               number_cell(rank.iteration_ms)};
    for (const Part& part : kParts) {
      cells.push_back(number_cell(rank.breakdown_ms.*part.ms));
    }
    if (const auto& step = rank.recorded_step) {
      cells.insert(cells.end(),
                   {number_cell(step->recorded_ms), number_cell(step->predicted_ms),
                    ratio_cell(step->predicted_ms, step->recorded_ms), cell_of(step->unprofiled_ms),
                    ratio_cell(rank.iteration_ms, step->unprofiled_ms.value_or(0))});
    }
    cells.resize(table.columns.size());
    table.rows.push_back(std::move(cells));
  }
  return {"ranks", "Ranks", {table}};
}

Section classes_section(const Prediction& prediction) {
  Bars plot{"Time by class of operator, ms an iteration.", "ms", {"predicted"}, {}};
  Table table{
      .id = "class-table",
      .caption = fmt::format("Operators of rank {}, by class: on the device where they have work "
                             "there, else on the host",
                             prediction.slowest_rank),
      .columns = {texts("class"), counts("calls"), figures("ms"), shares("share")}};
  double sum = 0;
  for (const et_schema::PredictedClass& row : prediction.classes) {
    sum += row.ms;
  }
  for (const et_schema::PredictedClass& row : prediction.classes) {
    plot.rows.push_back({row.name, {row.ms}});
    table.rows.push_back({row.name, row.count, number_cell(row.ms), ratio_cell(row.ms, sum)});
  }
  return {"classes", "Time by class", {bars(plot), table}};
}

Section path_section(const Prediction& prediction, std::size_t top) {
  Table table{
      .id = "path-table",
      .caption =
          "Critical path, over all ranks: what the iteration waits for, from its "
          "begin to its end",
      .columns = {texts("what"), texts("where"), counts("times"), figures("ms"), shares("share")},
      .shown_in_text = top};
  for (const et_schema::PredictedPathRow& row : prediction.critical_path) {
    table.rows.push_back({row.name, row.where, row.count, number_cell(row.ms),
                          ratio_cell(row.ms, prediction.iteration_ms.ms)});
  }
  return {"path", "Critical path", {table}};
}

/// Instructions of one name, with every model that gave one of their times.
Section operators_section(const Prediction& prediction, std::size_t top) {
  struct Operator {
    std::string op_class;
    std::uint64_t count = 0;
    double ms = 0;
    std::set<std::string> models;
  };
  std::map<std::string, Operator> by_name;
  for (const et_schema::PredictedOperator& one : prediction.operators) {
    Operator& sum = by_name[one.name];
    sum.op_class = one.op_class;
    sum.ms += one.time.ms;
    ++sum.count;
    sum.models.insert(one.extrapolated ? one.model + " (extrapolated)" : one.model);
  }
  std::vector<std::pair<std::string, Operator>> rows(by_name.begin(), by_name.end());
  std::ranges::stable_sort(rows,
                           [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
  Table table{
      .id = "operator-table",
      .caption = fmt::format("Operators of rank {}, ms an iteration", prediction.slowest_rank),
      .columns = {texts("operator"), texts("class"), counts("calls"), figures("ms"),
                  texts("how it is known")},
      .shown_in_text = top};
  for (const auto& [name, row] : rows) {
    table.rows.push_back({name, row.op_class, row.count, number_cell(row.ms),
                          fmt::format("{}", fmt::join(row.models, ", "))});
  }
  return {"operators", "Operators", {table}};
}

Section unmodelled_section(const Prediction& prediction) {
  Table table{.id = "unmodelled-table",
              .caption = "Without a model: a bound stands in",
              .columns = {texts("operator"), counts("calls"), shares("share")}};
  for (const et_schema::PredictedUnmodelled& row : prediction.unmodelled) {
    table.rows.push_back({row.name, row.count, number_cell(row.share)});
  }
  return {"unmodelled", "Without a model", {table}};
}

Facts platform_facts(const Prediction& prediction) {
  Facts facts;
  for (const auto& [name, value] : prediction.platform) {
    facts.push_back({name, value});
  }
  return facts;
}

}  // namespace

Page prediction_page(const Prediction& prediction, const Timeline& lanes,
                     const PredictionPageOptions& options) {
  Page page;
  page.title = fmt::format("{} on {}, predicted", prediction.benchmark, device_of(prediction));
  page.tone = prediction.unmodelled.empty() && prediction.assumptions.empty() ? Tone::kNeutral
                                                                              : Tone::kAttention;
  page.verdict = verdict_of(prediction);
  page.figures = {
      {{"Iteration, predicted", prediction.iteration_ms.ms, CellKind::kFigure, "ms"}, ""}};
  if (const Figure recorded = recorded_ms(prediction)) {
    page.figures.push_back({{"The original's step", *recorded, CellKind::kFigure, "ms"}, ""});
  }
  page.sections = {
      {"what-if", "What-ifs", {what_if_table(prediction, options)}},
      parts_section(prediction),
      {"timeline", "Timeline", {timeline(lanes)}},
      ranks_section(prediction, options.top),
      classes_section(prediction),
      path_section(prediction, options.top),
      operators_section(prediction, options.top),
      unmodelled_section(prediction),
      {"platform", "Where the costs come from", {platform_facts(prediction)}},
      {"assumed", "Assumed", {Notes{prediction.assumptions}}},
  };
  page.data = et_schema::to_json(prediction);
  page.data_name = "prediction.json";
  page.footer = "Understudy " + prediction.tool_version;
  return page;
}

}  // namespace understudy::pages
