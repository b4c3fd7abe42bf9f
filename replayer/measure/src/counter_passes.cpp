// Passes that count what processors and devices do, after all that is timed.
#include <c10/core/Device.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cold_calls.h"
#include "et_schema/base/error.h"
#include "et_schema/base/statistics.h"
#include "replayer/bind/bound.h"
#include "replayer/counters/source.h"
#include "replayer/device/device.h"
#include "replayer/measure/measure.h"
#include "replayer/run/run.h"
#include "replayer/run/run_error.h"
#include "stop_rule.h"

namespace understudy::replayer {
namespace {

using et_schema::Counters;

/// Each source counts this often, to show how much its counters vary.
constexpr std::size_t kRounds = 3;
/// Consecutive iterations are faster than single ones, so more of them fill a range.
constexpr double kFaster = 1.5;
/// Counters of the host for single instructions (docs/formats.md, "operators.jsonl").
constexpr std::array<std::string_view, 4> kOfInstructions = {"minor_faults", "instructions",
                                                             "cycles", "cache_misses"};

/// Calls `use` with the source, if it is there. A source that fails is closed, and the work goes on
/// without it.
template <typename Use>
void use_source(OpenedSource& opened, const Use& use) {
  try {
    if (opened.source != nullptr) {
      use(*opened.source);
    }
  } catch (const et_schema::Error& error) {
    opened.close(error);
  }
}

/// Counts each step that does work in a range of its own, numbered from 0. The device's work ends
/// within its range, except for messages: they end when the other rank has reached them.
class CountHook : public NoHook {
 public:
  /// `cold` calls each operator cold, which counts in place of the program's own call; may be null.
  CountHook(OpenedSource& opened, c10::Device device, ColdCalls* cold)
      : opened_(opened), device_(device), cold_(cold) {}

  void built(const Step& step) {
    if (calls_cold(cold_, step)) {
      cold_->run(step, 1, [this](bool is_counted, const auto& call) {
        if (is_counted) {
          begin();
        }
        call();
        if (is_counted) {
          end();
        }
      });
    } else if (step.does_work()) {
      begin();
    }
  }
  void called(const Step& step, const torch::jit::Stack&) {
    if (step.does_work() && !calls_cold(cold_, step)) {
      end();
    }
  }

 private:
  void begin() {
    synchronize_stream(device_);
    use_source(opened_, [this](CounterSource& source) { source.begin_range(range_); });
  }
  void end() {
    synchronize_stream(device_);
    use_source(opened_, [](CounterSource& source) { source.end_range(); });
    ++range_;
  }

  OpenedSource& opened_;
  c10::Device device_;
  ColdCalls* cold_;
  std::size_t range_ = 0;
};

/// Returns the values of a range's counters, sorted. Rounds that lack a counter are left out.
std::map<std::string, std::vector<double>> values_of(
    const std::vector<std::vector<Counters>>& rounds, std::size_t range) {
  std::map<std::string, std::vector<double>> values;
  for (const std::vector<Counters>& round : rounds) {
    for (const auto& [name, value] : round.at(range)) {
      values[name].push_back(value);
    }
  }
  for (auto& [name, sorted] : values) {
    std::ranges::sort(sorted);
  }
  return values;
}

void add_to_operators(const BoundProgram& bound, const std::vector<Counters>& calls,
                      std::vector<et_schema::OperatorTime>& operators) {
  std::map<std::string, std::vector<Counters>> by_name;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (bound.steps[i].does_work()) {
      by_name[bound.steps[i].whole->name].push_back(calls[i]);
    }
  }
  for (et_schema::OperatorTime& row : operators) {
    row.counters = et_schema::combined(by_name[row.name]);
  }
}

}  // namespace

/// Sources count one after the other, since two may need the same hardware. All ranks make the same
/// passes, also those without the source.
std::vector<Counters> Measurement::count(et_schema::RankReport& report) {
  std::vector<std::string> of_calls = options_.asked.counters;
  if (options_.asked.operator_times && options_.device.is_cpu()) {
    of_calls.insert(of_calls.end(), kOfInstructions.begin(), kOfInstructions.end());
  }
  if (of_calls.empty() || stop_->is_interrupted()) {
    return {};
  }
  std::vector<Counters> calls(bound_.steps.size());
  try {
    const std::span<OpenedSource> sources =
        options_.open_sources ? options_.open_sources() : std::span<OpenedSource>();
    const std::size_t most = most_of_ranks(sources.size());
    for (std::size_t i = 0; i < most; ++i) {
      OpenedSource none;
      const bool is_here = i < sources.size();
      OpenedSource& opened = is_here ? sources[i] : none;
      const bool of_iteration = count_iteration(opened, report);
      const bool has_counted = count_calls(opened, of_calls, calls) || of_iteration;
      if (!opened.why_not.empty()) {
        report.counter_sources[opened.name] = opened.why_not;
      } else if (has_counted) {
        report.counter_sources.try_emplace(opened.name, et_schema::kCounted);
      }
    }
  } catch (const Interrupted&) {
    stop_->interrupt();
  }
  machine_.set_blocking(false);
  externals_.restore();
  since_restore_ = 0;
  add_to_operators(bound_, calls, report.operators);
  return calls;
}

/// Counts whole iterations as they are measured: with streams, pace and overlap. Restores between
/// iterations of one range count as well. Returns false if the source counted nothing.
bool Measurement::count_iteration(OpenedSource& opened, et_schema::RankReport& report) {
  std::vector<std::string> names = options_.asked.counters;
  std::erase_if(names, [&](const std::string& name) {  // an earlier source has counted it
    return report.counter_spreads.contains(name);
  });
  double least_ms = 0;
  use_source(opened, [&](CounterSource& source) { least_ms = source.least_ms(); });
  const double enough =
      std::ceil(kFaster * least_ms / et_schema::median(report.iteration_ms.samples).value_or(1));
  const std::size_t iterations =
      most_of_ranks(std::max<std::size_t>(1, static_cast<std::size_t>(enough)));
  const Rounds rounds =
      count_rounds(opened, names, 1, [&](OpenedSource& used) { count_row(used, iterations); });
  Counters medians;
  Counters spreads;
  for (const auto& [name, values] : values_of(rounds, 0)) {
    medians[name] = *et_schema::percentile(values, 0.5);
    spreads[name] = *et_schema::percentile(values, 0.9) - *et_schema::percentile(values, 0.1);
  }
  const auto runs = static_cast<double>(iterations);
  medians = et_schema::of_one_run(std::move(medians), runs);
  medians.merge(report.counters);
  report.counters = std::move(medians);
  report.counter_spreads.merge(et_schema::of_one_run(std::move(spreads), runs));
  return !rounds.empty();
}

/// Runs iterations as they are measured, as one range of the source.
void Measurement::count_row(OpenedSource& opened, std::size_t iterations) {
  if (heap_) {
    heap_->begin();
  }
  use_source(opened, [](CounterSource& source) { source.begin_range(0); });
  run_in_a_row(iterations);
  use_source(opened, [](CounterSource& source) { source.end_range(); });
  if (heap_) {
    heap_->end();
  }
}

/// Communications complete one at a time, as in timing passes. Returns false if the source counted
/// nothing.
bool Measurement::count_calls(OpenedSource& opened, const std::vector<std::string>& asked,
                              std::vector<Counters>& calls) {
  std::vector<std::string> names;
  use_source(opened, [&](CounterSource& source) {
    for (const std::string& name : source.call_names()) {
      if (std::ranges::find(asked, name) != asked.end()) {
        names.push_back(name);
      }
    }
  });
  const auto ranges =
      static_cast<std::size_t>(std::ranges::count_if(bound_.steps, &Step::does_work));
  machine_.set_blocking(true);
  const Rounds rounds = count_rounds(opened, names, ranges, [&](OpenedSource& used) {
    CountHook hook(used, options_.device, cold_.get());
    guarded([&] { machine_.run(bound_, hook); });
    finish_iteration(options_.device);
  });
  machine_.set_blocking(false);
  std::size_t range = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (bound_.steps[i].does_work()) {
      for (const auto& [name, values] : values_of(rounds, range++)) {
        calls[i].emplace(name, *et_schema::percentile(values, 0.5));
      }
    }
  }
  return !rounds.empty();
}

/// Makes the passes that the source needs for these names, in kRounds rounds. All passes have the
/// same inputs. Returns by round the counters of each range. `work` runs the ranges of a pass.
Measurement::Rounds Measurement::count_rounds(OpenedSource& opened,
                                              const std::vector<std::string>& names,
                                              std::size_t ranges,
                                              const std::function<void(OpenedSource&)>& work) {
  OpenedSource none;
  Rounds rounds;
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::size_t mine = 0;
    if (!names.empty()) {
      use_source(opened, [&](CounterSource& source) { mine = source.prepare(names, ranges); });
    }
    const std::size_t passes = most_of_ranks(mine);
    for (std::size_t pass = 0; pass < passes; ++pass) {
      static_cast<void>(stop_->any_rank(false));
      if (stop_->is_interrupted()) {
        throw Interrupted();
      }
      tell(Phase::kCounterPasses, round * passes + pass, kRounds * passes);
      OpenedSource& used = pass < mine ? opened : none;
      externals_.vary(0);
      use_source(used, [](CounterSource& source) { source.begin_pass(); });
      begin_row();
      work(used);
      use_source(used, [](CounterSource& source) { source.end_pass(); });
    }
    if (mine > 0) {
      use_source(opened, [&](CounterSource& source) { rounds.push_back(source.take()); });
    }
  }
  return rounds;
}

}  // namespace understudy::replayer
