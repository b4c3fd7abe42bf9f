#include "et_schema/model/counter_comparison.h"

#include <algorithm>
#include <cmath>

#include "et_schema/base/statistics.h"
#include "et_schema/model/report.h"

namespace understudy::et_schema {
namespace {

/// The original was recorded once, under other observers and often on another machine. Up to this
/// share, a difference is not the replay's. scripts/fidelity has the same limit for bytes.
constexpr double kResemblanceMargin = 0.05;

using OfOperator = Counters OperatorTime::*;

/// Returns the counters `whole` and, of the operators that have `beside`, too, the sums by class.
CountedRun sums_of(const Counters& whole, const std::vector<OperatorTime>& operators,
                   OfOperator counters, OfOperator beside) {
  std::map<std::string, std::vector<Counters>> rows = {{"", {whole}}};
  for (const OperatorTime& row : operators) {
    if (!(row.*counters).empty() && !(row.*beside).empty()) {
      rows[row.op_class].push_back(row.*counters);
    }
  }
  CountedRun run;
  for (const auto& [op_class, counted] : rows) {
    for (const auto& [name, value] : combined(counted)) {
      if (std::isfinite(value)) {
        run[{op_class, name}].value = value;
      }
    }
  }
  return run;
}

CountedRun replay_of(const RunFigures& total, OfOperator beside) {
  CountedRun run = sums_of(total.counters, total.operators, &OperatorTime::counters, beside);
  for (auto& [key, counted] : run) {
    const auto spread = total.counter_spreads.find(key.second);
    const auto whole = run.find({"", key.second});
    if (spread != total.counter_spreads.end() && whole != run.end() && whole->second.value != 0) {
      counted.spread = spread->second / std::abs(whole->second.value);
    }
  }
  return run;
}

CountedRun medians_of(const std::vector<CountedRun>& runs) {
  std::map<CountedRun::key_type, std::vector<double>> values;
  CountedRun medians;
  for (const CountedRun& run : runs) {
    for (const auto& [key, counted] : run) {
      values[key].push_back(counted.value);
      medians[key].spread = std::max(medians[key].spread, counted.spread);
    }
  }
  for (auto& [key, counted] : medians) {
    std::vector<double>& of_runs = values[key];
    std::ranges::sort(of_runs);
    counted.value = *percentile(of_runs, 0.5);
    if (of_runs.size() > 1 && counted.value != 0) {
      const double range = of_runs.back() - of_runs.front();
      counted.spread = std::max(counted.spread, std::optional(range / std::abs(counted.value)));
    }
  }
  return medians;
}

std::string verdict_on(double a, double b, double tolerance) {
  const bool is_same = std::abs(b - a) <= tolerance * std::abs(a);
  return is_same ? "SAME" : b > a ? "MORE" : "LESS";
}

}  // namespace

CountedRun counted_run(const Report& report) {
  return replay_of(report.total, &OperatorTime::counters);
}

std::vector<ComparedCounter> compare_counters(const std::vector<CountedRun>& a,
                                              const std::vector<CountedRun>& b, double margin) {
  const CountedRun side_b = medians_of(b);
  std::vector<ComparedCounter> rows;
  for (const auto& [key, of_a] : medians_of(a)) {
    const auto of_b = side_b.find(key);
    if (of_b == side_b.end()) {
      continue;
    }
    ComparedCounter row{key.first, key.second, of_a.value, of_b->second.value, {}, {}};
    row.verdict = row.a == row.b ? "SAME" : "UNSURE";
    if (row.a != 0) {
      row.ratio = row.b / row.a;
    }
    if (const auto spread = std::max(of_a.spread, of_b->second.spread)) {
      row.verdict = verdict_on(row.a, row.b, std::max(margin, *spread));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ComparedCounter> counter_resemblance(const Report& report) {
  const RunFigures& total = report.total;
  CountedRun original = sums_of(total.original.counters, total.operators,
                                &OperatorTime::recorded_counters, &OperatorTime::counters);
  for (auto& [key, counted] : original) {
    counted.spread = 0;  // of one recording it is unknown: the margin or the replay's spread counts
  }
  std::vector<ComparedCounter> rows = compare_counters(
      {original}, {replay_of(total, &OperatorTime::recorded_counters)}, kResemblanceMargin);
  for (ComparedCounter& row : rows) {
    if (row.op_class.empty() && !report.filters.empty()) {
      row.ratio.reset();
      row.verdict.clear();
    }
  }
  return rows;
}

}  // namespace understudy::et_schema
