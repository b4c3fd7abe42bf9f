#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "common/figures.h"
#include "common/table.h"
#include "compare/render.h"

namespace understudy::cli {
namespace {

using comparer::Comparison;
using comparer::Ratio;
using comparer::Row;
using comparer::RowKind;
using comparer::Run;
using comparer::Verdict;

constexpr Alignment kRight = Alignment::kRight;
constexpr const char* kNone = "–";

std::string ms_text(const std::optional<double>& ms, bool with_sign = false) {
  if (!ms) {
    return kNone;
  }
  constexpr double kCoarse = 100;
  const int digits = std::abs(*ms) >= kCoarse ? 1 : 3;
  return with_sign ? fmt::format("{:+.{}f}", *ms, digits) : fmt::format("{:.{}f}", *ms, digits);
}

std::string ratio_text(const std::optional<Ratio>& ratio) {
  return ratio ? fmt::format("{:.3f}", ratio->value) : kNone;
}

std::string interval_text(const std::optional<Ratio>& ratio) {
  // So wide an interval says nothing.
  constexpr double kMostWidth = 10;
  return ratio && ratio->high <= kMostWidth * ratio->low
             ? fmt::format("{:.3f} … {:.3f}", ratio->low, ratio->high)
             : kNone;
}

std::string verdict_text(const Row& row) {
  const std::string verdict(comparer::to_string(row.verdict));
  return row.why.empty() ? verdict : fmt::format("{} ({})", verdict, row.why);
}

std::string label_of(const Row& row) {
  switch (row.kind) {
    case RowKind::kIteration:
      return "iteration, by itself";
    case RowKind::kCommon:
      return "common to the classes";
    case RowKind::kGap:
      return "gap (outside of operators)";
    default:
      return row.name;
  }
}

/// The rows of some kinds as a table, at most `most` of them, with what stands in the last columns.
std::string table_of(const std::vector<Row>& rows, const std::function<bool(RowKind)>& is_shown,
                     std::size_t most, const char* title, const char* detail) {
  std::vector<TableColumn> columns = {{"A ms", kRight},   {"B ms", kRight},
                                      {"change", kRight}, {"B ÷ A", kRight},
                                      {"95 % interval"},  {"beside the rest", kRight},
                                      {"verdict"},        {title}};
  if (detail != nullptr) {
    columns.push_back({detail});
  }
  TextTable table(columns);
  std::size_t shown = 0;
  for (const Row& row : rows) {
    if (!is_shown(row.kind) || shown++ >= most) {
      continue;
    }
    std::vector<std::string> cells = {ms_text(row.a_ms),
                                      ms_text(row.b_ms),
                                      ms_text(row.change_ms, true),
                                      ratio_text(row.ratio),
                                      interval_text(row.ratio),
                                      ratio_text(row.beside_rest),
                                      verdict_text(row),
                                      label_of(row)};
    if (detail != nullptr) {
      cells.push_back(row.detail);
    }
    table.add(std::move(cells));
  }
  return table.empty() ? "" : table.to_text();
}

std::string section(const std::string& title, const std::string& body) {
  return body.empty() ? "" : fmt::format("\n{}\n{}", title, body);
}

std::string run_text(const Run& run) {
  std::size_t iterations = 0;
  for (const comparer::Series& row : run.rows) {
    iterations = row.kind == RowKind::kIteration ? row.samples_ms.size() : iterations;
  }
  const std::string steps =
      fmt::format("{} {}{}", with_commas(iterations),
                  run.is_profile ? "profiled step" : "iteration", iterations == 1 ? "" : "s");
  if (run.is_profile) {
    return fmt::format("the profile of a program, {}", steps);
  }
  std::string text = fmt::format("{}, {}", run.environment.benchmark, steps);
  for (const std::string& part :
       {run.interrupted_by.empty() ? std::string() : "INCOMPLETE: ended by " + run.interrupted_by,
        run.pace == "asap" ? std::string() : "pace " + run.pace,
        run.filters.empty() ? std::string() : fmt::format("{}", fmt::join(run.filters, ", ")),
        run.environment.date_utc}) {
    text += part.empty() ? "" : ", " + part;
  }
  return text;
}

std::string sides_text(const ComparedRuns& runs) {
  TextTable table({{""}, {""}, {""}});
  const auto add = [&table](const char* side, const std::vector<Run>& of_side) {
    for (const Run& run : of_side) {
      table.add({side, run.file, run_text(run)});
    }
  };
  add("A", runs.a);
  add("B", runs.b);
  return "B held against A\n" + table.to_text();
}

std::string differences_text(const Comparison& comparison) {
  TextTable table({{"field"}, {"A"}, {"B"}, {""}});
  for (const comparer::EnvironmentDifference& row : comparison.differences) {
    table.add({row.field, row.a, row.b,
               row.weight == comparer::Weight::kOther ? "times need not be alike" : ""});
  }
  return section(comparison.is_alike ? "The environments differ in"
                                     : "THE ENVIRONMENTS DIFFER, and times with them",
                 table.empty() ? "" : table.to_text());
}

/// "matmul by 3.1 % (+1.86 ms)" of the classes with a verdict; operators where no class has it.
std::vector<std::string> named(const std::vector<Row>& rows, Verdict verdict) {
  std::vector<std::string> classes;
  std::vector<std::string> others;
  for (const Row& row : rows) {
    if (row.verdict != verdict) {
      continue;
    }
    const bool is_class = row.kind == RowKind::kClass || row.kind == RowKind::kGap;
    // A change that the clock does not show is one beside the rest.
    const comparer::Ratio& change = row.why.empty() ? *row.ratio : *row.beside_rest;
    const std::string ms =
        row.why.empty() ? fmt::format("({} ms)", ms_text(row.change_ms, true)) : row.why;
    (is_class ? classes : others)
        .push_back(fmt::format("{} by {:.1f} % {}",
                               row.kind == RowKind::kGap ? "gap" : label_of(row),
                               std::abs(change.value - 1) * kPercent, ms));
  }
  return classes.empty() ? others : classes;
}

std::size_t count_of(const std::vector<Row>& rows, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count_if(rows, [&](const Row& row) {
    return row.verdict == verdict && (row.kind == RowKind::kClass || row.kind == RowKind::kGap);
  }));
}

/// What others on the machine did to the runs.
std::string busy_text(const Comparison& comparison) {
  if (!comparison.was_busy) {
    return "";
  }
  return fmt::format(
      "\nTHE MACHINE WAS BUSY: {:.0f} involuntary context switches a second and thread; no change "
      "can be shown\n",
      *comparison.switches_per_s);
}

/// What the machine did by itself, as far as it was measured.
std::string speed_probe_text(const Comparison& comparison) {
  if (!comparison.speed_probe) {
    return "";
  }
  return fmt::format("  A fixed piece of work took {} times as long in B: the core's clock\n",
                     ratio_text(comparison.speed_probe));
}

}  // namespace

std::string verdict_sentence(const Comparison& comparison) {
  const std::vector<std::string> slower = named(comparison.rows, Verdict::kSlower);
  const std::vector<std::string> faster = named(comparison.rows, Verdict::kFaster);
  std::string text;
  if (!slower.empty()) {
    text += fmt::format("SLOWER: {}. ", fmt::join(slower, ", "));
  }
  if (!faster.empty()) {
    text += fmt::format("FASTER: {}. ", fmt::join(faster, ", "));
  }
  if (text.empty()) {
    text = "Nothing is shown to be slower or faster. ";
  }
  const std::size_t unsure = count_of(comparison.rows, Verdict::kUnsure);
  text += fmt::format("Classes shown to be the same: {}; unsure: {}.",
                      count_of(comparison.rows, Verdict::kSame), unsure);
  return text;
}

std::string comparison_advice(const Comparison& comparison, const ComparedRuns& runs) {
  const bool has_few_samples =
      std::ranges::any_of(comparison.rows, [](const Row& row) { return row.why == "few samples"; });
  if (has_few_samples) {
    return "Few samples tell little: replay with more --iterations.";
  }
  if (comparison.was_busy) {
    return "Measure again when nothing else runs, or give the ranks fewer threads.";
  }
  const bool are_single = runs.a.size() == 1 || runs.b.size() == 1;
  const bool is_unsure = std::ranges::any_of(comparison.rows, [](const Row& row) {
    return row.verdict == Verdict::kUnsure &&
           (row.kind == RowKind::kIteration || row.kind == RowKind::kClass);
  });
  if (are_single && is_unsure) {
    return "Longer runs (replay --passes 200) tell more, and so do several of each, made in turn: "
           "compare --a A1 A2 A3 --b B1 B2 B3";
  }
  return "";
}

std::string comparison_text(const Comparison& comparison, const ComparedRuns& runs,
                            std::size_t top) {
  const std::vector<Row>& rows = comparison.rows;
  const auto is_step = [](RowKind kind) {
    return kind == RowKind::kIteration || kind == RowKind::kCommon;
  };
  const auto is_class = [](RowKind kind) {
    return kind == RowKind::kClass || kind == RowKind::kGap;
  };
  const auto is_operator = [](RowKind kind) { return kind == RowKind::kOperator; };
  const auto is_on_device = [](RowKind kind) { return kind == RowKind::kOnDevice; };
  const auto is_collective = [](RowKind kind) { return kind == RowKind::kCollective; };
  const auto operators = static_cast<std::size_t>(
      std::ranges::count_if(rows, [&](const Row& row) { return row.kind == RowKind::kOperator; }));
  const std::string of_operators =
      operators > top ? fmt::format("Operators, the {} that changed most of {}", top, operators)
                      : "Operators, by cost";
  std::string text = sides_text(runs) + differences_text(comparison) + busy_text(comparison);
  text += section("Step", table_of(rows, is_step, rows.size(), "", nullptr));
  text += speed_probe_text(comparison);
  text += section("Classes of operators, by cost",
                  table_of(rows, is_class, rows.size(), "class", nullptr));
  text += section(of_operators, table_of(rows, is_operator, top, "operator", "class"));
  text += section("Operators, by the device's own time",
                  table_of(rows, is_on_device, top, "operator", "class"));
  text += section("Collectives, by cost",
                  table_of(rows, is_collective, rows.size(), "collective", "group and size"));
  if (comparison.samples_left_out > 0) {
    text += fmt::format("\n{} samples are no finite number and were left out\n",
                        with_commas(comparison.samples_left_out));
  }
  const std::string advice = comparison_advice(comparison, runs);
  return text + "\n" + verdict_sentence(comparison) + "\n" + (advice.empty() ? "" : advice + "\n");
}

}  // namespace understudy::cli
