#include "fleet/gallery/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "et_schema/base/figures.h"
#include "et_schema/base/map_values.h"
#include "et_schema/base/statistics.h"
#include "et_schema/model/report_verdict.h"
#include "fleet/comparer/compare.h"

namespace understudy::fleet {
namespace {

using comparer::RowKind;
using et_schema::Interval;
using et_schema::Report;

/// Spread of times from one session of a machine to another, beyond that of its replays in one:
/// clocks, temperature, other users. Of GPUs it is an assumed bound, as those in
/// fleet/comparer/src/noise.h. A virtual machine's neighbours change its CPUs' times by up to 30 %
/// within minutes, and classes by different factors (docs/metrics.md, "Suite").
struct SessionSpread {
  double all;         ///< of all times together
  double class_only;  ///< of a class beside the rest
};
constexpr SessionSpread kOfGpu = {0.01, 0.01};
constexpr SessionSpread kOfCpu = {0.12, 0.07};

/// Returns a ratio of two sessions: the interval also covers their spread.
Interval of_sessions(const Interval& ratio, double spread) {
  const double assumed = 1.96 * std::sqrt(2.0) * spread;
  const auto width = [&](double of_replays) {
    return std::exp(et_schema::root_sum_square(std::log(of_replays), assumed));
  };
  return {ratio.value, ratio.value / width(ratio.value / ratio.low),
          ratio.value * width(ratio.high / ratio.value)};
}

/// Returns the geometric mean of speeds, weighted by their shares. The ends of its interval are the
/// means of the ends: errors of steps that ran one after the other may have one cause, so they are
/// not assumed to cancel.
Interval mean_speed(const std::vector<SuiteRow>& rows) {
  Interval logs;
  double shares = 0;
  for (const SuiteRow& row : rows) {
    logs.value += row.share * std::log(row.speed.value);
    logs.low += row.share * std::log(row.speed.low);
    logs.high += row.share * std::log(row.speed.high);
    shares += row.share;
  }
  return {std::exp(logs.value / shares), std::exp(logs.low / shares), std::exp(logs.high / shares)};
}

bool is_on_device(const et_schema::OperatorTime& row) {
  return !row.device_samples_ms.empty();
}

/// How a step is compared with a reference.
class StepComparison {
 public:
  StepComparison(const std::vector<Report>& here, const GalleryReference& there)
      : is_recorded_(there.is_recorded) {
    add_not_replayed(here);
    add_not_replayed(there.reports);
    comparison_ = comparer::compare(runs_of(here), runs_of(there.reports));
  }

  /// Returns the row of the step, with those of its classes; no row if a side has no time.
  [[nodiscard]] std::optional<SuiteRow> row(const std::string& name) const {
    std::optional<SuiteRow> step;
    std::vector<SuiteRow> classes;
    for (const comparer::Row& row : comparison_.rows) {
      if (row.ratio_of_machines) {
        SuiteRow figures{row.name, *row.ratio_of_machines, *row.a_ms, *row.b_ms};
        if (row.kind == RowKind::kIteration) {
          step = std::move(figures);
        } else if (row.kind == RowKind::kClass) {
          figures.share = *row.b_ms;
          classes.push_back(std::move(figures));
        }
      }
    }
    if (step) {
      step->name = name;
      step->by_iteration = by_iteration();
      step->classes = std::move(classes);
      if (comparison_.speed_probe) {
        step->clock = comparison_.speed_probe->value;
      }
    }
    return step;
  }

  [[nodiscard]] bool was_busy() const { return comparison_.was_busy; }
  /// Adds what differs between the environments and is not listed yet; nothing of a recorded step,
  /// which has none.
  void add_differences(std::vector<comparer::EnvironmentDifference>& list) const {
    std::ranges::copy_if(comparison_.differences, std::back_inserter(list), [&](const auto& row) {
      return !is_recorded_ && row.weight != comparer::Weight::kIncident &&
             std::ranges::count(list, row) == 0;
    });
  }

 private:
  void add_not_replayed(const std::vector<Report>& reports) {
    for (const Report& report : reports) {
      for (const auto* rows : {&report.total.coverage.stubbed, &report.total.coverage.dropped}) {
        for (const et_schema::NamedCount& row : *rows) {
          not_replayed_.insert(row.name);
        }
      }
    }
  }

  /// A recorded step has its host's gaps, which a replay lacks. A stub takes the recorded time.
  [[nodiscard]] bool by_iteration() const { return !is_recorded_ && not_replayed_.empty(); }

  /// Returns the rows of a report that are compared: the step, classes and the speed probe.
  [[nodiscard]] comparer::Run run_of(Report report) const {
    std::vector<et_schema::OperatorTime>& operators = report.total.operators;
    // The recorded time of a communication is that of its issue.
    std::erase_if(operators, [&](const et_schema::OperatorTime& row) {
      return not_replayed_.contains(row.name) || (is_recorded_ && row.op_class == "communication");
    });
    if (std::ranges::any_of(operators, is_on_device)) {
      std::erase_if(operators, std::not_fn(is_on_device));
      for (et_schema::OperatorTime& row : operators) {
        row.samples_ms = row.device_samples_ms;
      }
    }
    comparer::Run run = comparer::run_of(report, "");
    std::erase_if(run.rows, [](const auto& row) {
      return row.kind != RowKind::kIteration && row.kind != RowKind::kClass &&
             row.kind != RowKind::kSpeedProbe;
    });
    if (!by_iteration()) {
      std::vector<double>& sum_ms = run.rows.front().samples_ms;  // of the iteration
      sum_ms.clear();
      for (const auto& row : run.rows) {
        if (row.kind == RowKind::kClass) {
          sum_ms.resize(row.samples_ms.size());
          std::ranges::transform(sum_ms, row.samples_ms, sum_ms.begin(), std::plus());
        }
      }
    }
    return run;
  }

  [[nodiscard]] std::vector<comparer::Run> runs_of(const std::vector<Report>& reports) const {
    std::vector<comparer::Run> runs;
    for (const Report& report : reports) {
      runs.push_back(run_of(report));
    }
    return runs;
  }

  bool is_recorded_;
  std::set<std::string> not_replayed_;  ///< operators that a side dropped or stubbed
  comparer::Comparison comparison_;
};

/// Sets shares of the sum, and the order by share.
void set_shares(std::vector<SuiteRow>& rows) {
  double sum = 0;
  for (const SuiteRow& row : rows) {
    sum += row.share;
  }
  for (SuiteRow& row : rows) {
    row.share /= sum;
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), &SuiteRow::share);
}

/// Sets the platform's speed and classes from its steps. Then all intervals also cover sessions.
void sum_up(SuitePlatform& platform, const SessionSpread& spread) {
  std::map<std::string, std::vector<SuiteRow>> by_class;
  for (SuiteRow& step : platform.steps) {
    set_shares(step.classes);
    for (const SuiteRow& row : step.classes) {
      by_class[row.name].push_back(row);
    }
  }
  platform.speed = mean_speed(platform.steps);
  for (const auto& [name, rows] : by_class) {
    SuiteRow& sum = platform.classes.emplace_back();
    sum.name = name;
    sum.share = 0;
    for (const SuiteRow& row : rows) {
      sum.share += row.share;
    }
    sum.speed = mean_speed(rows);
    const Interval beside = of_sessions(sum.speed, spread.class_only);
    sum.finding = beside.high < platform.speed.low   ? "less"
                  : beside.low > platform.speed.high ? "more"
                                                     : "";
  }
  set_shares(platform.classes);
  const auto widen = [&](SuiteRow& row) { row.speed = of_sessions(row.speed, spread.all); };
  for (SuiteRow& step : platform.steps) {
    widen(step);
    std::ranges::for_each(step.classes, widen);
  }
  std::ranges::for_each(platform.classes, widen);
  platform.speed = of_sessions(platform.speed, spread.all);
}

/// Returns "more in a, b"; an empty text if no class has the finding.
std::string classes_text(const SuitePlatform& platform, const char* finding) {
  constexpr double kLeastNamedShare = 0.01;
  std::vector<std::string> names;
  for (const SuiteRow& row : platform.classes) {
    if (row.finding == finding && row.share >= kLeastNamedShare) {
      names.push_back(row.name);
    }
  }
  return names.empty() ? "" : fmt::format("{} in {}", finding, fmt::join(names, ", "));
}

}  // namespace

bool tells(const Interval& speed) {
  constexpr double kFar = 100;
  return speed.high < kFar * speed.low;
}

std::optional<double> gpu_clock_mhz(const std::vector<Report>& reports) {
  std::vector<double> clocks;
  for (const Report& report : reports) {
    for (const et_schema::RankReport& rank : report.ranks) {
      if (rank.gpu && rank.gpu->health && rank.gpu->health->samples.sm_clock_mean_mhz) {
        clocks.push_back(*rank.gpu->health->samples.sm_clock_mean_mhz);
      }
    }
  }
  return et_schema::median(clocks);
}

std::vector<SuitePlatform> compare_suite(const std::vector<SuiteReplays>& replays) {
  std::map<std::pair<bool, std::string>, SuitePlatform> platforms;
  for (const SuiteReplays& here : replays) {
    for (const GalleryReference& there : here.step.references) {
      if (here.reports.empty()) {
        continue;
      }
      const StepComparison comparison(here.reports, there);
      if (std::optional<SuiteRow> step = comparison.row(here.step.name)) {
        const std::optional<double> clock_here = gpu_clock_mhz(here.reports);
        const std::optional<double> clock_there = gpu_clock_mhz(there.reports);
        if (clock_here && clock_there) {
          step->clock = *clock_here / *clock_there;
        }
        SuitePlatform& platform = platforms[{!there.is_recorded, there.platform}];
        platform.name = there.platform;
        platform.is_recorded = there.is_recorded;
        platform.steps.push_back(std::move(*step));
        platform.was_busy = platform.was_busy || comparison.was_busy();
        comparison.add_differences(platform.differences);
      }
    }
  }
  std::vector<SuitePlatform> list = et_schema::values_of(std::move(platforms));
  for (SuitePlatform& platform : list) {
    sum_up(platform, replays.front().step.on_device ? kOfGpu : kOfCpu);
  }
  std::ranges::stable_sort(list, {}, [](const SuitePlatform& each) { return each.steps.size(); });
  return list;
}

std::string sentence_of(const SuitePlatform& platform) {
  std::string classes = classes_text(platform, "less");
  const std::string more = classes_text(platform, "more");
  classes += (classes.empty() || more.empty() ? "" : ", ") + more;
  return fmt::format("{:.2f} × the {}{} ({}) over {}; {}{}.", platform.speed.value, platform.name,
                     platform.is_recorded ? ", as recorded there" : "",
                     tells(platform.speed)
                         ? fmt::format("{:.2f} … {:.2f}", platform.speed.low, platform.speed.high)
                         : "no interval of so few replays",
                     et_schema::counted(platform.steps.size(), "step"),
                     classes.empty() ? "no class differs from the whole" : classes,
                     platform.was_busy ? "; unsure, since others used the CPUs" : "");
}

std::vector<std::string> findings_of(const std::vector<SuiteReplays>& replays) {
  std::vector<std::string> findings;
  for (const SuiteReplays& each : replays) {
    if (!each.failure.empty()) {
      findings.push_back(fmt::format("{} failed: {}.", each.step.name, each.failure));
    }
    if (each.step.references.empty()) {
      findings.push_back(fmt::format("{} has no reference.", each.step.name));
    }
    if (!each.reports.empty()) {
      const std::vector<std::string> found = et_schema::verdict_of(each.reports.back()).findings;
      if (!found.empty()) {
        findings.push_back(fmt::format("{}, {} to know: {}", each.step.name,
                                       et_schema::counted(found.size(), "thing"), found.front()));
      }
    }
  }
  return findings;
}

}  // namespace understudy::fleet
