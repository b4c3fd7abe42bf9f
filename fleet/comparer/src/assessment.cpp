#include "fleet/comparer/assessment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "et_schema/base/figures.h"

namespace understudy::comparer {
namespace {

using et_schema::figure_text;
using et_schema::share_text;
using et_schema::Tone;

/// Returns "by 3.1 %"; for large ratios "to 66 times".
std::string amount_of(double ratio) {
  constexpr double kFirstTimes = 3;
  if (ratio < kFirstTimes) {
    return fmt::format("by {:.1f} %", std::abs(ratio - 1) * et_schema::kPercent);
  }
  return fmt::format("to {:.{}f} times", ratio, ratio < 10 ? 1 : 0);
}

/// Returns "matmul by 3.1 % (+1.86 ms)" for each class with this verdict. If no class has it, for
/// each operator. The step comes first if it has the verdict and changed by more than its classes.
/// Device time is used if known.
std::vector<std::string> named(const std::vector<Row>& rows, Verdict verdict) {
  constexpr double kMore = 1.05;
  std::vector<std::string> steps;
  std::vector<std::string> classes;
  std::vector<std::string> others;
  double step_ms = 0;
  double classes_ms = 0;
  for (const Row& row : rows) {
    if (row.verdict != verdict || !decides(rows, row)) {
      continue;
    }
    const bool is_class = row.kind == RowKind::kClass || row.kind == RowKind::kGap;
    const bool is_step = row.kind == RowKind::kIteration;
    // If `why` is set, the verdict is that of the row's ratio to the rest of the step.
    const et_schema::Interval& change = row.why.empty() ? *row.ratio : *row.beside_rest;
    const std::string ms =
        row.why.empty() ? fmt::format("({} ms)", et_schema::change_text(row.change_ms)) : row.why;
    const std::string name = is_step                     ? "iteration"
                             : row.kind == RowKind::kGap ? "gap"
                                                         : label_of(row);
    (is_step    ? steps
     : is_class ? classes
                : others)
        .push_back(fmt::format("{} {} {}", name, amount_of(change.value), ms));
    step_ms += is_step ? std::abs(row.change_ms.value_or(0)) : 0;
    classes_ms += is_class ? std::abs(row.change_ms.value_or(0)) : 0;
  }
  if (step_ms <= kMore * classes_ms) {
    steps.clear();
  }
  const std::vector<std::string>& more = classes.empty() ? others : classes;
  steps.insert(steps.end(), more.begin(), more.end());
  return steps;
}

std::size_t count_of(const std::vector<Row>& rows, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count_if(rows, [&](const Row& row) {
    return row.verdict == verdict && (row.kind == RowKind::kClass || row.kind == RowKind::kGap);
  }));
}

std::string sentence_of(const Comparison& comparison) {
  const auto said = [&](const char* text, Verdict verdict) {
    const std::vector<std::string> rows = named(comparison.rows, verdict);
    return rows.empty() ? std::string() : fmt::format("{}: {}. ", text, fmt::join(rows, ", "));
  };
  std::string text = said("SLOWER", Verdict::kSlower);
  const bool is_faster = std::ranges::any_of(comparison.rows, [](const Row& row) {
    return row.kind == RowKind::kIteration && row.verdict == Verdict::kFaster;
  });
  // The step's own verdict comes first.
  text.insert(is_faster ? 0 : text.size(), said("FASTER", Verdict::kFaster));
  if (text.empty()) {
    text = comparison.lost_events ? "UNSURE: a profile's device events are lost or unknown. "
           : tells(comparison)    ? "Nothing is shown to be slower or faster. "
                                  : "UNSURE: nothing can be told from these runs. ";
  }
  const std::size_t unsure = count_of(comparison.rows, Verdict::kUnsure);
  text += fmt::format("Classes shown to be the same: {}; unsure: {}.",
                      count_of(comparison.rows, Verdict::kSame), unsure);
  return text;
}

/// Returns advice on how to make an unsure comparison of these runs surer; may be empty.
std::string advice_on(const Comparison& comparison, const std::vector<Run>& a,
                      const std::vector<Run>& b) {
  // More runs cannot make a prediction surer.
  std::set<std::string> more_samples;
  bool has_profile = false;
  bool has_prediction = false;
  for (const std::vector<Run>* const side : {&a, &b}) {
    for (const Run& run : *side) {
      has_profile |= run.is_profile;
      has_prediction |= run.is_prediction;
      const auto is_short = [&run](RowKind kind) {
        return !run.is_prediction && std::ranges::any_of(run.rows, [kind](const Series& row) {
          return row.kind == kind && row.samples_ms.size() < kFewSamples;
        });
      };
      if (is_short(RowKind::kIteration)) {
        more_samples.insert(run.is_profile ? "profile more steps (capture --profiled)"
                                           : "replay with more --iterations");
      } else if (is_short(RowKind::kClass)) {
        more_samples.insert("replay with more --passes");
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
        "{} tell more, and so do several of each, made in turn: understudy compare --a A… --b B…",
        has_profile ? "Profiles of more steps" : "Longer runs (replay --passes 200)");
  }
  return "";
}

/// Says how long a step takes on both devices, and how much of it the sides have in common.
std::string device_sentence(const DeviceComparison& devices) {
  const double a_ms = devices.all.a_ms.value_or(0);
  const double b_ms = devices.all.b_ms.value_or(0);
  return fmt::format(
      "A step takes {} ms of device time on {}, {} ms on {}: {:.3f} times as long. Operators on "
      "both sides are {} of it on A, {} on B.",
      figure_text(a_ms), devices.a.device.empty() ? "A" : devices.a.device, figure_text(b_ms),
      devices.b.device.empty() ? "B" : devices.b.device, b_ms / a_ms,
      share_text(devices.shared.a_ms.value_or(0) / a_ms),
      share_text(devices.shared.b_ms.value_or(0) / b_ms));
}

/// Returns a sentence if the step's change differs from that of its device time.
std::string host_sentence(const DeviceStep& a, const DeviceStep& b) {
  constexpr double kMuch = 0.1;
  const double step = b.step_ms / a.step_ms;
  const double on_device = b.busy_ms / a.busy_ms;
  if (!(std::abs(step / on_device - 1) > kMuch) || !a.idle || !b.idle) {
    return "";
  }
  return fmt::format(
      " The step takes {:.3f} times as long: its device waits for the host in {} of it, {} on A.",
      step, share_text(*b.idle), share_text(*a.idle));
}

std::vector<std::string> findings_of(const Comparison& comparison, const std::vector<Run>& a,
                                     const std::vector<Run>& b,
                                     const std::optional<DeviceComparison>& devices) {
  std::vector<std::string> findings;
  if (devices) {
    findings.push_back(device_sentence(*devices) + host_sentence(devices->a, devices->b));
  }
  for (const std::vector<Run>* const side : {&a, &b}) {
    for (const Run& run : *side) {
      if (!run.interrupted_by.empty()) {
        findings.push_back(
            fmt::format("{} is not complete: ended by {}.", run.file, run.interrupted_by));
      }
      if (run.is_cut_off) {
        findings.push_back(
            fmt::format("{} is cut off: what came after its end counts nowhere.", run.file));
      }
    }
  }
  const auto other =
      std::ranges::find(comparison.differences, kNotReplayed, &EnvironmentDifference::field);
  if (other != comparison.differences.end()) {
    findings.push_back(fmt::format("The runs did other work. Not replayed: {} in A, {} in B.",
                                   other->a, other->b));
  }
  if (comparison.by_kernels) {
    findings.push_back(fmt::format(
        "{} of A's device time and {} of B's lie in no operator: classes are of all kernels, by "
        "their names.",
        share_text(a.front().outside_share), share_text(b.front().outside_share)));
  }
  if (comparison.was_busy) {
    findings.push_back(fmt::format(
        "The machine was busy: {:.0f} involuntary context switches a second and thread; "
        "no change can be shown.",
        comparison.switches_per_s.value_or(0)));
  }
  if (!comparison.is_alike) {
    findings.emplace_back("The environments differ, and times with them.");
  }
  if (comparison.samples_left_out > 0) {
    findings.push_back(fmt::format("{} samples are no finite number and were left out.",
                                   comparison.samples_left_out));
  }
  const std::string advice = advice_on(comparison, a, b);
  if (!advice.empty()) {
    findings.push_back(advice);
  }
  return findings;
}

Tone tone_of(const Comparison& comparison) {
  const auto has = [&](Verdict verdict) {
    return std::ranges::any_of(comparison.rows,
                               [&](const Row& row) { return row.verdict == verdict; });
  };
  if (has(Verdict::kSlower)) {
    return Tone::kBad;
  }
  if (has(Verdict::kFaster)) {
    return Tone::kGood;
  }
  return comparison.was_busy ? Tone::kAttention : Tone::kNeutral;
}

}  // namespace

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

et_schema::Assessment verdict_of(const Comparison& comparison, const std::vector<Run>& a,
                                 const std::vector<Run>& b,
                                 const std::optional<DeviceComparison>& devices) {
  std::string sentence = sentence_of(comparison);
  for (const std::vector<Run>* const side : {&a, &b}) {
    for (const Run& run : *side) {
      if (!run.disturbance.empty()) {
        sentence.insert(sentence.size() - 1, "; " + run.disturbance);
      }
    }
  }
  return {tone_of(comparison), std::move(sentence), findings_of(comparison, a, b, devices)};
}

}  // namespace understudy::comparer
