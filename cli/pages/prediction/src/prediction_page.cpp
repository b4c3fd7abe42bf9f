#include "cli/pages/prediction/prediction_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <set>

#include "cli/pages/document/account.h"
#include "cli/pages/document/from_json.h"
#include "cli/pages/document/table.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/map_values.h"
#include "predictor/simulate/assessment.h"

namespace understudy::pages {
namespace {

using et_schema::PredictedRank;
using et_schema::Prediction;
using Figure = std::optional<double>;
using Json = nlohmann::ordered_json;

Cell ratio_of(const Cell& value, const Cell& base) {
  const auto* const above = std::get_if<double>(&value);
  const auto* const below = std::get_if<double>(&base);
  return above && below && *below > 0 ? cell_of(Figure(*above / *below)) : Cell();
}

/// Adds a column with the share of the last one in `whole`; if `whole` is not set, in its sum.
Table with_shares(Table table, Figure whole = {}) {
  if (!whole) {
    whole = 0;
    for (const std::vector<Cell>& row : table.rows) {
      *whole += std::get<double>(row.back());
    }
  }
  table.columns.push_back({"share", CellKind::kShare});
  for (std::vector<Cell>& row : table.rows) {
    row.push_back(ratio_of(row.back(), *whole));
  }
  return table;
}

/// Parts of an iteration, of what it waits for and of what a rank does: title, key in the document.
struct PredictedPart {
  const char* of_path;
  const char* of_rank;
  const char* key;
};
constexpr std::array<PredictedPart, 4> kParts = {{
    {"compute", "compute", "compute"},
    {"exposed communication", "exposed communication", "exposed_communication"},
    {"host", "host alone", "host_bound"},
    {"waits outside of the profile", "idle", "idle"},
}};

Table what_if_table(const Prediction& prediction, std::size_t top) {
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
    const auto add = [&](const et_schema::PredictedChange::Row& row) {
      table.rows.push_back({change.what_if, row.name, row.count, cell_of(Figure(row.before_ms)),
                            cell_of(Figure(row.after_ms))});
    };
    add(sum);
    std::ranges::for_each(change.rows | std::views::take(top), add);
    if (change.rows.size() > top) {
      table.rows.push_back({change.what_if, fmt::format("… {} more", change.rows.size() - top),
                            Cell(), Cell(), Cell()});
    }
  }
  return table;
}

Section parts_section(const Json& document) {
  std::vector<Column> columns = {ids("rank")};
  Plot plot{.caption = "What ranks do in an iteration, ms.", .unit = "ms"};
  Table table{.id = "part-table",
              .caption = "What the iteration waits for: its critical path by part",
              .columns = {texts("part"), figures("ms")}};
  for (const PredictedPart& part : kParts) {
    plot.columns.push_back(columns.size());
    columns.push_back(figures(part.of_rank, fmt::format("breakdown_ms/{}", part.key)));
    table.rows.push_back({part.of_path, cell_of(document.at("bound_ms").at(part.key))});
  }
  return {"parts",
          "Where the time goes",
          {drawn(table_at(document, "/ranks", "", std::move(columns)), std::move(plot)),
           with_shares(std::move(table))}};
}

Section ranks_section(const Prediction& prediction, const Json& document, std::size_t top) {
  const bool has_steps = std::ranges::any_of(
      prediction.ranks, [](const PredictedRank& rank) { return rank.recorded_step.has_value(); });
  if (prediction.ranks.size() < 2 && !has_steps) {
    return {"ranks", "Ranks", {}};
  }
  std::vector<Column> columns = {counts("rank"), figures("iteration", "iteration_ms")};
  for (const PredictedPart& part : kParts) {
    columns.push_back(figures(part.of_rank, fmt::format("breakdown_ms/{}", part.key)));
  }
  columns.push_back(figures("waits for ranks", "breakdown_ms/for_ranks"));
  const std::size_t profiled = columns.size();
  if (has_steps) {
    columns.insert(columns.end(), {figures("recorded step", "recorded_step/recorded_ms"),
                                   figures("simulated", "recorded_step/predicted_ms"),
                                   {"÷ recorded", CellKind::kRatio},
                                   figures("unprofiled step", "recorded_step/unprofiled_ms"),
                                   {"predicted ÷ unprofiled", CellKind::kRatio}});
  }
  Table table = table_at(document, "/ranks",
                         "Ranks, ms an iteration: what each does at a moment; waits for ranks are "
                         "exposed communication, too; its host alone is told where no device works",
                         std::move(columns), top);
  if (has_steps) {
    for (std::vector<Cell>& row : table.rows) {
      row[profiled + 2] = ratio_of(row[profiled + 1], row[profiled]);
      row[profiled + 4] = ratio_of(row[1], row[profiled + 3]);
    }
  }
  return {"ranks", "Ranks", {table}};
}

Section classes_section(const Prediction& prediction, const Json& document) {
  Table table =
      with_shares(table_at(document, "/classes",
                           fmt::format("Operators of rank {} by class, on the device if it has one",
                                       prediction.slowest_rank),
                           {texts("class", "name"), counts("calls", "count"), figures("ms")}));
  table.plots = {
      {.caption = "Time by class of operator, ms an iteration.", .columns = {2}, .unit = "ms"}};
  return {"classes", "Time by class", {std::move(table)}};
}

Section path_section(const Prediction& prediction, const Json& document, std::size_t top) {
  return {"path",
          "Critical path",
          {with_shares(table_at(document, "/critical_path",
                                "Critical path, over all ranks: what the iteration waits for, from "
                                "its begin to its end",
                                {texts("what", "name"), texts("where"), counts("times", "count"),
                                 figures("ms")},
                                top),
                       prediction.iteration_ms.value)}};
}

/// Shows instructions by name, with every model that provided a time.
Section operators_section(const Prediction& prediction, std::size_t top) {
  struct Operator {
    std::string name;
    std::string op_class;
    std::uint64_t count = 0;
    double ms = 0;
    std::set<std::string> models;
  };
  std::map<std::string, Operator> by_name;
  const auto is_there = &et_schema::PredictedOperator::on_device;
  const bool on_device = std::ranges::any_of(prediction.operators, is_there);
  for (const et_schema::PredictedOperator& one : prediction.operators) {
    if (on_device && !one.on_device && one.op_class != "communication") {
      continue;
    }
    Operator& sum = et_schema::row_named(one.name, by_name);
    sum.op_class = one.op_class;
    sum.ms += one.ms.value;
    ++sum.count;
    sum.models.insert(one.extrapolated ? one.model + " (extrapolated)" : one.model);
  }
  Table table{
      .id = "operator-table",
      .caption = fmt::format("Operators of rank {}, ms an iteration", prediction.slowest_rank),
      .columns = {texts("operator"), texts("class"), counts("calls"), figures("ms"),
                  texts("how it is known")},
      .shown_in_text = top};
  for (const Operator& row : et_schema::largest_first(std::move(by_name), &Operator::ms)) {
    table.rows.push_back({row.name, row.op_class, row.count, cell_of(Figure(row.ms)),
                          fmt::format("{}", fmt::join(row.models, ", "))});
  }
  return {"operators", "Operators", {table}};
}

/// Says whether the card holds the tensors, and if not, what takes the memory and what would help.
std::string memory_text(const et_schema::PredictedMemory& memory) {
  constexpr std::uint64_t kContextBytes = std::uint64_t{1} << 30U;
  using et_schema::with_bytes;
  std::string text = fmt::format("memory: {} of tensors at the peak, on rank {}",
                                 with_bytes(memory.peak_bytes), memory.rank);
  if (memory.card_bytes == 0) {
    return text;
  }
  const bool fits = memory.peak_bytes + kContextBytes <= memory.card_bytes;
  text += fmt::format("; with {} assumed for context and communicators it {} the card's {}",
                      with_bytes(kContextBytes), fits ? "fits" : "does NOT fit",
                      with_bytes(memory.card_bytes));
  if (!fits) {
    const bool is_of_state = 2 * memory.before_bytes > memory.peak_bytes;
    text += fmt::format(". The step begins with {}, its largest tensor is {}; {} would help",
                        with_bytes(memory.before_bytes), memory.largest,
                        is_of_state ? "sharding of parameters and optimizer, on more ranks,"
                                    : "a smaller micro-batch or activation checkpointing");
  }
  return text;
}

Facts platform_facts(const Prediction& prediction) {
  Facts facts;
  for (const auto& [name, value] : prediction.platform) {
    facts.push_back({name, value});
  }
  return facts;
}

}  // namespace

Page prediction_page(const Prediction& prediction, const Timeline& lanes, std::size_t top) {
  const Json document = et_schema::json_of(prediction);
  Notes assumed{prediction.assumptions};
  std::erase_if(assumed.texts, predictor::is_finding);
  Page page;
  page.title = fmt::format("{} on {}, predicted", prediction.benchmark,
                           predictor::device_name_of(prediction));
  page.verdict = predictor::verdict_of(prediction);
  if (prediction.memory) {
    page.verdict.findings.push_back(memory_text(*prediction.memory));
  }
  page.figures = {{fact_at(document, "/iteration_ms/predicted", "Iteration, predicted",
                           CellKind::kFigure, "ms"),
                   fmt::format("90 %: {} … {}", et_schema::figure_text(prediction.iteration_ms.low),
                               et_schema::figure_text(prediction.iteration_ms.high))}};
  if (const Figure original = predictor::original_ms(prediction)) {
    page.figures.push_back({{"The original's step", *original, CellKind::kFigure, "ms"}, ""});
  }
  if (prediction.work.mfu) {
    page.figures.push_back(
        {fact_at(document, "/work/mfu", "MFU", CellKind::kPercent), "of " + prediction.work.peak});
  }
  page.sections = {
      {"explained",
       "A published step",
       {with_shares(table_at(document, "/explained", "What a published step is made of",
                             {texts("part", "name"), texts("how", "where"), figures("ms")}))}},
      {"what-if", "What-ifs", {what_if_table(prediction, top)}},
      parts_section(document),
      classes_section(prediction, document),
      work_section(document),
      operators_section(prediction, top),
      {"timeline", "Timeline", {lanes}},
      ranks_section(prediction, document, top),
      {"account", "The recorded time", {account_table(document, "/account", "the prediction")}},
      path_section(prediction, document, top),
      {"interval",
       "What the interval is made of",
       {with_shares(table_at(document, "/interval_parts",
                             "Assumptions by their part of the 90 % interval: squares of half "
                             "widths, below and above",
                             {texts("what is assumed", "name"), figures("ms²", "variance_ms2")},
                             top))}},
      {"doubtful",
       "Hardly known",
       {with_shares(table_at(document, "/doubtful", "Times that are hardly known",
                             {texts("operator", "name"), texts("why", "where"),
                              counts("calls", "count"), figures("ms")}),
                    prediction.iteration_ms.value)}},
      {"platform", "Where the costs come from", {platform_facts(prediction)}},
      {"assumed", "Assumed", {std::move(assumed)}},
  };
  page.data = et_schema::to_json(prediction);
  page.data_name = "prediction.json";
  page.unseen = {{1, "operators"}};
  page.footer = "Understudy " + prediction.tool_version;
  return page;
}

}  // namespace understudy::pages
