#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/common/figures.h"
#include "comparison_parts.h"

namespace understudy::pages {
namespace {

using cli::kPercent;
using comparer::Comparison;
using comparer::Row;
using comparer::RowKind;
using comparer::Run;
using comparer::Verdict;

/// Returns "by 3.1 %"; for large ratios "to 66 times".
std::string amount_of(double ratio) {
  constexpr double kFirstTimes = 3;
  if (ratio < kFirstTimes) {
    return fmt::format("by {:.1f} %", std::abs(ratio - 1) * kPercent);
  }
  return fmt::format("to {:.{}f} times", ratio, ratio < 10 ? 1 : 0);
}

/// Returns "matmul by 3.1 % (+1.86 ms)" for the classes with a verdict; if there are none, for
/// operators. Device time is used if known.
std::vector<std::string> named(const std::vector<Row>& rows, Verdict verdict) {
  std::vector<std::string> classes;
  std::vector<std::string> others;
  for (const Row& row : rows) {
    if (row.verdict != verdict || !comparer::decides(rows, row)) {
      continue;
    }
    const bool is_class = row.kind == RowKind::kClass || row.kind == RowKind::kGap;
    // If `why` is set, the verdict is that of the row's ratio to the rest of the step.
    const comparer::Ratio& change = row.why.empty() ? *row.ratio : *row.beside_rest;
    const std::string ms =
        row.why.empty()
            ? fmt::format("({} ms)", cell_text(cell_of(row.change_ms), CellKind::kChange))
            : row.why;
    (is_class ? classes : others)
        .push_back(fmt::format("{} {} {}", row.kind == RowKind::kGap ? "gap" : label_of(row),
                               amount_of(change.value), ms));
  }
  return classes.empty() ? others : classes;
}

std::size_t count_of(const std::vector<Row>& rows, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count_if(rows, [&](const Row& row) {
    return row.verdict == verdict && (row.kind == RowKind::kClass || row.kind == RowKind::kGap);
  }));
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
    text = comparison.lost_events ? "UNSURE: a profile's device events are lost or unknown. "
                                  : "Nothing is shown to be slower or faster. ";
  }
  const std::size_t unsure = count_of(comparison.rows, Verdict::kUnsure);
  text += fmt::format("Classes shown to be the same: {}; unsure: {}.",
                      count_of(comparison.rows, Verdict::kSame), unsure);
  return text;
}

std::string comparison_advice(const Comparison& comparison, const std::vector<Run>& a,
                              const std::vector<Run>& b) {
  // More runs cannot make a prediction surer.
  std::set<std::string> more_samples;
  bool has_profile = false;
  bool has_prediction = false;
  for (const std::vector<Run>* const side : {&a, &b}) {
    for (const Run& run : *side) {
      has_profile |= run.is_profile;
      has_prediction |= run.is_prediction;
      const bool is_short = std::ranges::any_of(run.rows, [](const comparer::Series& row) {
        return (row.kind == RowKind::kIteration || row.kind == RowKind::kClass) &&
               row.samples_ms.size() < comparer::kFewSamples;
      });
      if (is_short && !run.is_prediction) {
        more_samples.insert(run.is_profile ? "profile more steps"
                                           : "replay with more --iterations");
      }
    }
  }
  const bool has_few_samples =
      std::ranges::any_of(comparison.rows, [](const Row& row) { return row.why == "few samples"; });
  if (has_few_samples && !more_samples.empty()) {
    return fmt::format("Few samples tell little: {}.", fmt::join(more_samples, ", and "));
  }
  if (comparison.was_busy) {
    return "Measure again when nothing else runs, or give the ranks fewer threads.";
  }
  const bool is_unsure = std::ranges::any_of(comparison.rows, [](const Row& row) {
    return row.verdict == Verdict::kUnsure &&
           (row.kind == RowKind::kIteration || row.kind == RowKind::kClass);
  });
  const bool are_single = a.size() == 1 || b.size() == 1;
  if (are_single && is_unsure && !has_prediction) {
    return fmt::format(
        "{} tell more, and so do several of each, made in turn: compare --a A1 A2 A3 --b B1 B2 B3",
        has_profile ? "Profiles of more steps" : "Longer runs (replay --passes 200)");
  }
  return "";
}

}  // namespace understudy::pages
