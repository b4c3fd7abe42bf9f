#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/figures.h"
#include "common/table.h"
#include "predict/render.h"

namespace understudy::cli {
namespace {

using et_schema::Prediction;

std::string ms(double value) {
  return fmt::format("{:.3f}", value);
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", kPercent * part / whole) : "-";
}

std::string change(double to, double from) {
  return from > 0 ? fmt::format("{:+.2f} %", kPercent * (to / from - 1)) : "-";
}

TextTable table(const std::vector<std::string>& left, const std::vector<std::string>& right) {
  std::vector<TableColumn> columns;
  for (const std::string& title : left) {
    columns.push_back({title, Alignment::kLeft});
  }
  for (const std::string& title : right) {
    columns.push_back({title, Alignment::kRight});
  }
  return TextTable(std::move(columns));
}

std::string head(const Prediction& prediction) {
  std::string text =
      fmt::format("{}: {} ms an iteration on {} rank{}, 90 % within {} to {}; bound by {}\n",
                  prediction.benchmark, ms(prediction.iteration_ms.ms), prediction.world_size,
                  prediction.world_size == 1 ? "" : "s", ms(prediction.iteration_ms.low),
                  ms(prediction.iteration_ms.high), prediction.bound_by);
  if (prediction.without_what_if_ms) {
    text += fmt::format("without the what-ifs {} ms: {}\n", ms(*prediction.without_what_if_ms),
                        change(prediction.iteration_ms.ms, *prediction.without_what_if_ms));
  }
  return text;
}

std::string rest_line(std::size_t rows, std::size_t shown) {
  return rows > shown ? fmt::format("  … {} more\n", rows - shown) : "";
}

std::string breakdown(const Prediction& prediction) {
  TextTable rows = table({"part"}, {"ms", "share"});
  const et_schema::PredictedBreakdown& parts = prediction.breakdown_ms;
  const double sum = parts.compute + parts.exposed_communication + parts.host_bound + parts.idle;
  rows.add({"compute", ms(parts.compute), percent(parts.compute, sum)});
  rows.add({"exposed communication", ms(parts.exposed_communication),
            percent(parts.exposed_communication, sum)});
  rows.add({"host bound", ms(parts.host_bound), percent(parts.host_bound, sum)});
  rows.add({"idle", ms(parts.idle), percent(parts.idle, sum)});
  return fmt::format("\nIteration of rank {}{}\n{}", prediction.slowest_rank,
                     prediction.world_size == 1 ? "" : ", the slowest", rows.to_text());
}

std::string ranks(const Prediction& prediction, std::size_t top) {
  const bool has_steps =
      std::any_of(prediction.ranks.begin(), prediction.ranks.end(),
                  [](const et_schema::PredictedRank& rank) { return rank.recorded_step; });
  if (prediction.ranks.size() < 2 && !has_steps) {
    return "";
  }
  std::vector<std::string> titles = {
      "rank", "iteration ms", "compute ms", "exposed comm ms", "host bound ms", "idle ms"};
  if (has_steps) {
    titles.insert(titles.end(), {"profiled step ms", "simulated ms", "error", "unprofiled step ms",
                                 "error of the prediction"});
  }
  TextTable rows = table({}, titles);
  for (std::size_t i = 0; i < std::min(prediction.ranks.size(), top); ++i) {
    const et_schema::PredictedRank& rank = prediction.ranks[i];
    std::vector<std::string> cells = {
        fmt::format("{}", rank.rank),     ms(rank.iteration_ms),
        ms(rank.breakdown_ms.compute),    ms(rank.breakdown_ms.exposed_communication),
        ms(rank.breakdown_ms.host_bound), ms(rank.breakdown_ms.idle)};
    if (rank.recorded_step) {
      const et_schema::PredictedRecordedStep& step = *rank.recorded_step;
      cells.insert(
          cells.end(),
          {ms(step.recorded_ms), ms(step.predicted_ms), change(step.predicted_ms, step.recorded_ms),
           step.unprofiled_ms ? ms(*step.unprofiled_ms) : "-",
           step.unprofiled_ms ? change(rank.iteration_ms, *step.unprofiled_ms) : "-"});
    } else if (has_steps) {
      cells.insert(cells.end(), {"-", "-", "-", "-", "-"});
    }
    rows.add(std::move(cells));
  }
  return "\nRanks\n" + rows.to_text() + rest_line(prediction.ranks.size(), top);
}

std::string classes(const Prediction& prediction) {
  double sum = 0;
  for (const et_schema::PredictedClass& row : prediction.classes) {
    sum += row.ms;
  }
  TextTable rows = table({"class"}, {"count", "ms", "share"});
  for (const et_schema::PredictedClass& row : prediction.classes) {
    rows.add({row.name, with_commas(row.count), ms(row.ms), percent(row.ms, sum)});
  }
  return fmt::format(
      "\nOperators of rank {}, by class: on the device where they have work there, "
      "else on the host\n{}",
      prediction.slowest_rank, rows.to_text());
}

std::string critical_path(const Prediction& prediction, std::size_t top) {
  TextTable rows = table({"operator", "where"}, {"count", "ms", "share"});
  for (std::size_t i = 0; i < std::min(prediction.critical_path.size(), top); ++i) {
    const et_schema::PredictedPathRow& row = prediction.critical_path[i];
    rows.add({row.name, row.where, with_commas(row.count), ms(row.ms),
              percent(row.ms, prediction.iteration_ms.ms)});
  }
  return "\nCritical path, over all ranks\n" + rows.to_text() +
         rest_line(prediction.critical_path.size(), top);
}

/// What a change does to operators, as far as `top` allows.
void add_changed(TextTable& table, const et_schema::PredictedChange& change, std::size_t top) {
  for (std::size_t i = 0; i < std::min(change.rows.size(), top); ++i) {
    const et_schema::PredictedChange::Row& row = change.rows[i];
    table.add({"", row.name, with_commas(row.count), ms(row.before_ms), ms(row.after_ms)});
  }
  if (change.rows.size() > top) {
    table.add({"", fmt::format("… {} more", change.rows.size() - top), "", "", ""});
  }
}

std::string what_if(const Prediction& prediction, std::size_t top, bool explain) {
  if (prediction.what_if.empty()) {
    return "";
  }
  TextTable rows = table({"what if", "changes"}, {"instructions", "before ms", "after ms"});
  for (const et_schema::PredictedChange& change : prediction.what_if) {
    et_schema::PredictedChange::Row sum{"all of these", 0, 0, 0};
    for (const et_schema::PredictedChange::Row& row : change.rows) {
      sum.count += row.count;
      sum.before_ms += row.before_ms;
      sum.after_ms += row.after_ms;
    }
    rows.add(
        {change.what_if, sum.name, with_commas(sum.count), ms(sum.before_ms), ms(sum.after_ms)});
    if (explain) {
      add_changed(rows, change, top);
    }
  }
  return "\nWhat-ifs, sums over all ranks\n" + rows.to_text();
}

std::string unmodelled(const Prediction& prediction) {
  if (prediction.unmodelled.empty()) {
    return "";
  }
  TextTable rows = table({"operator"}, {"count", "share"});
  for (const et_schema::PredictedUnmodelled& row : prediction.unmodelled) {
    rows.add({row.name, with_commas(row.count), percent(row.share, 1)});
  }
  return "\nWithout a model\n" + rows.to_text();
}

}  // namespace

std::string prediction_text(const Prediction& prediction, std::size_t top, bool explain) {
  std::string text = head(prediction) + what_if(prediction, top, explain) + breakdown(prediction) +
                     ranks(prediction, top) + classes(prediction) + critical_path(prediction, top) +
                     unmodelled(prediction);
  if (!prediction.assumptions.empty()) {
    text += "\nAssumed\n";
    for (const std::string& assumption : prediction.assumptions) {
      text += fmt::format("  {}\n", assumption);
    }
  }
  return text;
}

}  // namespace understudy::cli
