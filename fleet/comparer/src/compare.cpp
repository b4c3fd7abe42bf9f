#include "fleet/comparer/compare.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "et_schema/base/enum_names.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/measurement.h"
#include "et_schema/model/op_class.h"
#include "noise.h"
#include "reference.h"
#include "verdicts.h"

namespace understudy::comparer {
namespace {

et_schema::Interval ratio_of(const Uncertain& value) {
  const double half = value.half_interval();
  return {std::exp(value.value), std::exp(value.value - half), std::exp(value.value + half)};
}

std::optional<std::uint64_t> count_of(const std::vector<const Series*>& side) {
  const Series* first = side.front();
  return first == nullptr || first->count == 0 ? std::nullopt : std::optional(first->count);
}

/// Returns a row's typical time on one side, for rows that the other side lacks.
std::optional<double> time_of(const std::vector<const Series*>& side) {
  if (side.front() == nullptr || side.front()->samples_ms.empty()) {
    return std::nullopt;
  }
  std::vector<double> samples = side.front()->samples_ms;
  return mean_of_fastest(samples);
}

double logarithmic_mean(double a, double b) {
  constexpr double kNearlyEqual = 1e-6;
  const double log_ratio = std::log(b / a);
  return std::abs(log_ratio) < kNearlyEqual ? a : (b - a) / log_ratio;
}

/// Square of the busiest run's rate of interruptions over that of an idle machine; at least 1.
double disturbance_of(double switches_per_s) {
  const double most = std::max(1.0, switches_per_s / et_schema::kIdleSwitchesPerS);
  return most * most;
}

class Comparer {
 public:
  Comparer(const std::vector<Run>& a, const std::vector<Run>& b, bool is_alike,
           double switches_per_s)
      : setting_{a.size(), b.size(), disturbance_of(switches_per_s)}, is_alike_(is_alike) {
    Sampler sampler;
    for (PairedRow& row : pair_rows(a, b)) {
      std::optional<Estimate> estimate = sampler.estimate(row);
      rows_.push_back({std::move(row), std::move(estimate)});
    }
    set_shares();
  }

  /// Excludes changed classes one by one, the most certain change first: a class that changed says
  /// nothing about what the others have in common.
  std::vector<Row> compare(const CompareOptions& options) {
    for (;;) {
      std::vector<Row> rows;
      std::vector<Evidence> evidence;
      for (const EstimatedRow& each : rows_) {
        if (each.row.kind == RowKind::kSpeedProbe) {
          continue;
        }
        evidence.push_back(evidence_of(each));
        rows.push_back(row_of(each, evidence.back()));
      }
      add_common(rows, evidence);
      judge(rows, evidence, options);
      if (!leave_out_surest(rows, evidence)) {
        sort(rows);
        return rows;
      }
    }
  }

  /// Returns the ratio of the speed probes; unset if a run did not measure them.
  [[nodiscard]] std::optional<et_schema::Interval> speed_probe() const {
    for (const EstimatedRow& each : rows_) {
      if (each.row.kind == RowKind::kSpeedProbe && each.estimate) {
        return ratio_of(by_the_clock(*each.estimate, 1, setting_));
      }
    }
    return std::nullopt;
  }

 private:
  /// Sets each row's share of its step, which is the time of all classes and the gap.
  void set_shares() {
    for (const EstimatedRow& each : rows_) {
      if (each.estimate && (each.row.kind == RowKind::kClass || each.row.kind == RowKind::kGap)) {
        step_a_ms_ += each.estimate->a_ms;
        step_b_ms_ += each.estimate->b_ms;
      }
    }
    for (EstimatedRow& each : rows_) {
      const bool is_of_step =
          each.row.kind != RowKind::kIteration && each.row.kind != RowKind::kSpeedProbe;
      if (!each.estimate || !is_of_step || step_a_ms_ == 0) {
        continue;
      }
      Estimate& estimate = *each.estimate;
      estimate.share = logarithmic_mean(estimate.a_ms / step_a_ms_, estimate.b_ms / step_b_ms_);
      if (each.row.kind == RowKind::kGap) {
        estimate.spread_of_step = kGapSpreadOfStep;
      }
    }
  }

  const std::optional<Reference>& rest_of(const PairedRow& row) {
    // The row's own class must not be part of the rest.
    std::set<std::string> left_out = changed_;
    switch (row.kind) {
      case RowKind::kClass:
        left_out.insert(row.name);
        break;
      case RowKind::kOperator:
      case RowKind::kOnDevice:
        left_out.insert(row.detail);
        break;
      case RowKind::kCollective:
        left_out.insert("communication");
        break;
      default:
        break;
    }
    return reference(left_out);
  }

  const std::optional<Reference>& reference(const std::set<std::string>& left_out) {
    const auto [place, is_new] = references_.try_emplace(left_out);
    if (is_new) {
      place->second = reference_without(left_out, rows_, setting_);
      if (place->second && place->second->has_speed_probe) {
        place->second->is_machine_state = is_machine_state(*place->second);
      }
    }
    return place->second;
  }

  /// Excludes the most certain class change from the rest. Returns false if none is left.
  bool leave_out_surest(const std::vector<Row>& rows, const std::vector<Evidence>& evidence) {
    const Row* surest = nullptr;
    double least_p = 2;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      const bool is_shown = row.verdict == Verdict::kSlower || row.verdict == Verdict::kFaster;
      if (row.kind == RowKind::kClass && is_shown && !changed_.contains(row.name) &&
          p_of(evidence[i]) < least_p) {
        surest = &row;
        least_p = p_of(evidence[i]);
      }
    }
    if (surest != nullptr) {
      changed_.insert(surest->name);
    }
    return surest != nullptr;
  }

  Evidence evidence_of(const EstimatedRow& each) {
    Evidence evidence;
    if (!each.estimate) {
      return evidence;
    }
    const Estimate& estimate = *each.estimate;
    const std::optional<Reference>& rest = rest_of(each.row);
    const bool has_rest = is_alike_ && rest && !estimate.has_few_samples;
    evidence.has_few_samples = estimate.has_few_samples;
    evidence.share = estimate.share;
    evidence.a_share =
        each.row.kind == RowKind::kIteration || step_a_ms_ == 0 ? 1 : estimate.a_ms / step_a_ms_;
    evidence.clock = by_the_clock(estimate, has_rest ? rest->inflation : 1, setting_);
    evidence.machine = with_machine(estimate, has_rest ? rest->spread_variance : 0, setting_);
    if (each.row.kind == RowKind::kIteration) {
      if (is_alike_ && !estimate.has_few_samples) {
        evidence.rest = beside_clock(each, setting_);
        evidence.rest_is_machine = true;
      }
    } else if (has_rest) {
      evidence.rest = beside_rest(each, *rest, setting_);
      evidence.rest_is_machine = rest->is_machine_state;
    }
    return evidence;
  }

  [[nodiscard]] Row row_of(const EstimatedRow& each, const Evidence& evidence) const {
    Row row;
    row.kind = each.row.kind;
    row.name = each.row.name;
    row.detail = each.row.detail;
    row.count_a = count_of(each.row.a);
    row.count_b = count_of(each.row.b);
    if (!each.estimate) {
      row.a_ms = time_of(each.row.a);
      row.b_ms = time_of(each.row.b);
      row.why = !row.a_ms ? "only in B" : !row.b_ms ? "only in A" : "no time";
      if (row.a_ms.has_value() != row.b_ms.has_value()) {
        row.change_ms = row.b_ms.value_or(0) - row.a_ms.value_or(0);
      }
      return row;
    }
    row.a_ms = each.estimate->a_ms;
    row.b_ms = each.estimate->b_ms;
    row.change_ms = *row.b_ms - *row.a_ms;
    row.ratio = ratio_of(*evidence.clock);
    row.ratio_of_machines = ratio_of(*evidence.machine);
    if (evidence.rest) {
      row.beside_rest = ratio_of(*evidence.rest);
    }
    return row;
  }

  [[nodiscard]] double share_of_changed() const {
    double share = 0;
    for (const EstimatedRow& each : rows_) {
      if (each.row.kind == RowKind::kClass && changed_.contains(each.row.name)) {
        share += each.estimate->share;
      }
    }
    return share;
  }

  [[nodiscard]] bool is_machine_state(const Reference& rest) const {
    const Uncertain change = with_machine(rest.all, rest.spread_variance, setting_);
    return std::abs(change.value) <= change.half_interval();
  }

  /// Adds the row of the change that all unchanged classes share, or that all classes share if the
  /// unchanged ones are the smaller part.
  void add_common(std::vector<Row>& rows, std::vector<Evidence>& evidence) {
    constexpr double kMostChanged = 0.5;
    const std::optional<Reference>& unchanged = reference(changed_);
    const std::optional<Reference>& common =
        unchanged && share_of_changed() < kMostChanged ? unchanged : reference({});
    if (!common || !is_alike_) {
      return;
    }
    Evidence each;
    each.clock = by_the_clock(common->all, common->inflation, setting_);
    each.machine = with_machine(common->all, common->spread_variance, setting_);
    Row row;
    row.kind = RowKind::kCommon;
    row.ratio = ratio_of(*each.clock);
    row.change_ms = step_a_ms_ * std::expm1(common->all.log_ratio);
    rows.push_back(std::move(row));
    evidence.push_back(each);
  }

  static void sort(std::vector<Row>& rows) {
    std::ranges::stable_sort(rows, {}, [](const Row& row) {
      // Classes and the gap form one list.
      const RowKind kind = row.kind == RowKind::kGap ? RowKind::kClass : row.kind;
      return std::tuple(kind, -std::abs(row.change_ms.value_or(0)));
    });
  }

  Setting setting_;
  bool is_alike_;
  std::vector<EstimatedRow> rows_;
  std::set<std::string> changed_;  ///< classes found to have changed so far
  /// Excluded classes → the change that all other classes share.
  std::map<std::set<std::string>, std::optional<Reference>> references_;
  double step_a_ms_ = 0;
  double step_b_ms_ = 0;
};

/// Sets the verdicts FASTER and SLOWER to UNSURE; with `all`, every verdict.
void veto_changes(std::vector<Row>& rows, const char* why, bool all = false) {
  for (Row& row : rows) {
    if (all || row.verdict == Verdict::kSlower || row.verdict == Verdict::kFaster) {
      row.verdict = Verdict::kUnsure;
      row.why = why;
    }
  }
}

/// Sets to UNSURE what other work explains: operators that a run stubbed or dropped, their classes
/// and, as they have no name, the step and its gaps.
void veto_other_work(std::vector<Row>& rows, const std::vector<Run>& a, const std::vector<Run>& b) {
  std::set<std::string_view> names = {""};
  for (const std::vector<Run>* runs : {&a, &b}) {
    for (const Run& run : *runs) {
      for (const auto& [name, fate] : run.not_replayed) {
        names.insert({name, et_schema::without_overload(name), et_schema::op_class(name)});
      }
    }
  }
  for (Row& row : rows) {
    if (names.contains(row.name) && row.verdict != Verdict::kUnsure) {
      row.verdict = Verdict::kUnsure;
      row.why = "other work";
    }
  }
}

/// Sets changes to UNSURE that kernels without operator or class may explain: those of operators
/// that are called more or less often, and those of classes while unnamed kernels change the other
/// way.
void veto_moved(std::vector<Row>& rows) {
  constexpr double kMuch = 0.1;  // of the class's own change
  const auto unnamed = std::ranges::find_if(
      rows, [](const Row& row) { return row.kind == RowKind::kClass && row.name == "other"; });
  const double unnamed_ms = unnamed == rows.end() ? 0 : unnamed->change_ms.value_or(0);
  std::vector<Row*> moved;
  for (Row& row : rows) {
    const double change_ms = row.change_ms.value_or(0);
    const bool is_class = row.kind == RowKind::kClass;
    const bool is_operator = row.kind == RowKind::kOperator || row.kind == RowKind::kOnDevice;
    const bool is_hidden =
        unnamed_ms * change_ms < 0 && std::abs(unnamed_ms) > kMuch * std::abs(change_ms);
    if ((is_class && is_hidden) || (is_operator && row.count_a != row.count_b)) {
      moved.push_back(&row);
    }
  }
  for (Row* const row : moved) {
    if (row->verdict != Verdict::kUnsure) {
      row->verdict = Verdict::kUnsure;
      row->why = "in no operator";
    }
  }
}

/// Predictions by the same models have no noise: more than the margin is a change, if it is not
/// negligible in the step, which is the first row.
void judge_without_noise(std::vector<Row>& rows, double margin) {
  constexpr double kNegligible = 0.002;
  const double least_ms = rows.empty() ? 0 : kNegligible * rows.front().a_ms.value_or(0);
  for (Row& row : rows) {
    if (!row.ratio || !row.change_ms) {
      continue;
    }
    const double ratio = row.ratio->value;
    const bool is_same =
        std::abs(*row.change_ms) < least_ms || std::abs(std::log(ratio)) <= std::log1p(margin);
    row.ratio = {ratio, ratio, ratio};
    row.verdict = is_same ? Verdict::kSame : ratio > 1 ? Verdict::kSlower : Verdict::kFaster;
    row.why.clear();
  }
}

std::vector<et_schema::CountedRun> counted_runs(const std::vector<Run>& runs) {
  std::vector<et_schema::CountedRun> counted;
  std::ranges::transform(runs, std::back_inserter(counted), &Run::counted);
  return counted;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  return et_schema::EnumNames<Verdict::kUnsure>("SAME", "FASTER", "SLOWER", "UNSURE")[verdict];
}

Comparison compare(const std::vector<Run>& a, const std::vector<Run>& b,
                   const CompareOptions& options) {
  Comparison comparison;
  comparison.differences = environment_differences(a, b);
  comparison.is_alike = std::ranges::none_of(
      comparison.differences,
      [](const EnvironmentDifference& difference) { return difference.weight == Weight::kOther; });
  for (const std::vector<Run>* runs : {&a, &b}) {
    for (const Run& run : *runs) {
      comparison.samples_left_out += run.samples_left_out;
      comparison.switches_per_s = std::max(comparison.switches_per_s, run.switches_per_s);
    }
  }
  const double switches_per_s = comparison.switches_per_s.value_or(0);
  Comparer comparer(a, b, comparison.is_alike, switches_per_s);
  comparison.speed_probe = comparer.speed_probe();
  comparison.rows = comparer.compare(options);
  const auto are_predicted = [](const std::vector<Run>& runs) {
    return std::ranges::all_of(runs, &Run::is_prediction);
  };
  const bool by_one_model =
      std::ranges::none_of(comparison.differences, [](const EnvironmentDifference& difference) {
        return difference.field.find("platform.") != std::string::npos;
      });
  if (by_one_model && are_predicted(a) && are_predicted(b)) {
    judge_without_noise(comparison.rows, options.margin);
  }
  comparison.counters =
      et_schema::compare_counters(counted_runs(a), counted_runs(b), options.margin);
  if (std::ranges::find(comparison.differences, kNotReplayed, &EnvironmentDifference::field) !=
      comparison.differences.end()) {
    veto_other_work(comparison.rows, a, b);
  }
  comparison.was_busy = switches_per_s > et_schema::kIdleSwitchesPerS;
  if (comparison.was_busy) {
    veto_changes(comparison.rows, "busy");  // other programs may have caused the changes
  }
  comparison.by_kernels = options.by_kernels;
  if (options.by_kernels) {
    veto_moved(comparison.rows);
  }
  const auto is_incomplete = [](const std::vector<Run>& runs) {
    return std::ranges::any_of(
        runs, [](const Run& run) { return run.by_device && !run.doubts.knows_times(); });
  };
  comparison.lost_events = is_incomplete(a) || is_incomplete(b);
  if (comparison.lost_events) {
    veto_changes(comparison.rows, "lost events", true);
  }
  return comparison;
}

bool decides(const std::vector<Row>& rows, const Row& row) {
  return row.kind != RowKind::kOperator ||
         std::ranges::find(rows, RowKind::kOnDevice, &Row::kind) == rows.end();
}

bool tells(const Comparison& comparison) {
  double classes_ms = 0;
  double same_ms = 0;
  for (const Row& row : comparison.rows) {
    const bool is_same = row.verdict == Verdict::kSame;
    const bool is_change = !is_same && row.verdict != Verdict::kUnsure;
    if ((is_change && decides(comparison.rows, row)) ||
        (is_same && row.kind == RowKind::kIteration)) {
      return true;
    }
    const bool is_class = row.kind == RowKind::kClass || row.kind == RowKind::kGap;
    classes_ms += is_class ? row.a_ms.value_or(0) : 0;
    same_ms += is_class && is_same ? row.a_ms.value_or(0) : 0;
  }
  return same_ms > classes_ms / 2;
}

}  // namespace understudy::comparer
