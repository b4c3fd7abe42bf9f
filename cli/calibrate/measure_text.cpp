#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "calibrate/measure.h"
#include "common/figures.h"
#include "common/table.h"

namespace understudy::cli {
namespace {

using calibrator::AreaEnd;
using calibrator::AreaResult;
using Counts = std::map<std::string, std::uint64_t>;
using nlohmann::ordered_json;

/// The areas of one class together.
struct ClassRow {
  std::size_t areas = 0, known = 0, points = 0, refused = 0;
  double spent_s = 0;
  std::vector<double> errors;
};

std::map<std::string, ClassRow> by_class(const std::vector<AreaResult>& areas) {
  std::map<std::string, ClassRow> classes;
  for (const AreaResult& area : areas) {
    ClassRow& row = classes[area.op_class];
    ++row.areas;
    row.known += area.end == AreaEnd::kError || area.end == AreaEnd::kExhausted ? 1 : 0;
    row.points += area.points;
    row.refused += area.refused;
    row.spent_s += area.spent_s;
    if (area.error) {
      row.errors.push_back(*area.error);
    }
  }
  return classes;
}

std::string error_text(std::vector<double> errors) {
  if (errors.empty()) {
    return "";
  }
  std::ranges::sort(errors);
  return fmt::format("{:.1f} %", kPercent * errors[errors.size() / 2]);
}

std::string areas_text(const std::vector<AreaResult>& areas) {
  TextTable table({{"class"},
                   {"operators", Alignment::kRight},
                   {"known", Alignment::kRight},
                   {"calls", Alignment::kRight},
                   {"refused", Alignment::kRight},
                   {"held-out error", Alignment::kRight},
                   {"s", Alignment::kRight}});
  for (const auto& [name, row] : by_class(areas)) {
    table.add({name, with_commas(row.areas), with_commas(row.known), with_commas(row.points),
               with_commas(row.refused), error_text(row.errors),
               fmt::format("{:.1f}", row.spent_s)});
  }
  return table.to_text();
}

void append_counts(std::string& text, const std::string& title, const Counts& counts) {
  constexpr std::size_t kMost = 10;
  if (counts.empty()) {
    return;
  }
  text += fmt::format("\n{}\n", title);
  std::size_t shown = 0;
  for (const auto& [reason, count] : counts) {
    if (++shown > kMost) {
      text += fmt::format("  … and {} more kinds, see --format json\n", counts.size() - kMost);
      break;
    }
    text += fmt::format("  {} × {}\n", count, reason);
  }
}

ordered_json counts_json(const CallCounts& counts) {
  return {{"calls", counts.calls},
          {"timed", counts.timed},
          {"refused", counts.refused},
          {"left_out", counts.left_out}};
}

std::string tables_text(const TablesSummary& tables, const std::string& rows) {
  std::string text =
      fmt::format("\nEmbedding tables\n  {} calls over one to eight tables in {:.0f} s",
                  with_commas(tables.calls), tables.spent_s);
  if (tables.found > 0) {
    text += fmt::format(", {} of them were there", with_commas(tables.found));
  }
  if (!tables.make_a_model()) {
    return text +
           fmt::format("\n  too few for a model: {} make one, a longer --budget measures them\n",
                       predictor::kLeastEmbeddingRows);
  }
  return text + fmt::format(": {}\n", tables_file(rows));
}

}  // namespace

std::string to_text(const CalibrationSummary& summary, const std::string& rows) {
  std::string text =
      fmt::format("{}: {} rows in {:.0f} s\n", rows, with_commas(summary.rows), summary.spent_s);
  if (summary.found_rows > 0) {
    text += fmt::format("  {} of them were there, of {:.0f} s{}\n", with_commas(summary.found_rows),
                        summary.found_s,
                        summary.found_cut_line ? "; a line that was cut was left out" : "");
  }
  if (summary.signal != 0) {
    text += "  interrupted: the same command resumes it\n";
  }
  text += fmt::format(
      "\nHost\n  {:.1f} us  {}\n  {:.0f} ns  of the loop, an operator\n  {:.0f} ns  a page fault\n",
      summary.host.probe_us, summary.host.probe_kind, summary.host.loop_ns,
      summary.host.page_fault_ns);
  if (summary.tables) {
    text += tables_text(*summary.tables, rows);
  }
  if (summary.of_benches.calls > 0) {
    text += fmt::format(
        "\nBenchmarks\n  {} different operator calls, {} timed\n  {} neighbours, {} timed\n",
        with_commas(summary.of_benches.calls), with_commas(summary.of_benches.timed),
        with_commas(summary.neighbours.calls), with_commas(summary.neighbours.timed));
  }
  if (!summary.areas.empty()) {
    text += "\nOperators\n" + areas_text(summary.areas);
  }
  append_counts(text, "Refused, of benchmarks", summary.of_benches.refused);
  append_counts(text, "No calls", summary.of_benches.left_out);
  append_counts(text, "Refused, of the sweep", summary.refused);
  return text;
}

std::string to_json(const CalibrationSummary& summary, const std::string& rows) {
  ordered_json areas = ordered_json::array();
  for (const AreaResult& area : summary.areas) {
    ordered_json& row = areas.emplace_back();
    row["name"] = area.name;
    row["class"] = area.op_class;
    row["calls"] = area.points;
    row["refused"] = area.refused;
    row["error"] = area.error ? ordered_json(*area.error) : ordered_json();
    row["spent_s"] = area.spent_s;
    row["ended_by"] = to_string(area.end);
  }
  ordered_json tables;
  if (summary.tables) {
    tables = {{"rows_file", tables_file(rows)},
              {"calls", summary.tables->calls},
              {"found_calls", summary.tables->found},
              {"spent_s", summary.tables->spent_s}};
  }
  const ordered_json document = {{"rows_file", rows},
                                 {"rows", summary.rows},
                                 {"found_rows", summary.found_rows},
                                 {"spent_s", summary.spent_s},
                                 {"complete", summary.signal == 0},
                                 {"host",
                                  {{"probe_kind", summary.host.probe_kind},
                                   {"probe_us", summary.host.probe_us},
                                   {"loop_ns", summary.host.loop_ns},
                                   {"page_fault_ns", summary.host.page_fault_ns}}},
                                 {"embedding_tables", tables},
                                 {"benchmarks", counts_json(summary.of_benches)},
                                 {"neighbours", counts_json(summary.neighbours)},
                                 {"operators", areas},
                                 {"refused", summary.refused}};
  return document.dump(1) + "\n";
}

std::string to_csv(const CalibrationSummary& summary) {
  TextTable table(
      {{"name"}, {"class"}, {"calls"}, {"refused"}, {"error"}, {"spent_s"}, {"ended_by"}});
  for (const AreaResult& area : summary.areas) {
    table.add({area.name, area.op_class, fmt::format("{}", area.points),
               fmt::format("{}", area.refused), area.error ? fmt::format("{}", *area.error) : "",
               fmt::format("{}", area.spent_s), std::string(to_string(area.end))});
  }
  return table.to_csv();
}

}  // namespace understudy::cli
