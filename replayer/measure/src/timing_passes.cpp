// Passes that time each operator.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "cold_calls.h"
#include "collective_time.h"
#include "hooks.h"
#include "instruction_times.h"
#include "milliseconds.h"
#include "operator_times.h"
#include "pass_budget.h"
#include "replayer/measure/measure.h"
#include "replayer/measure/speed_probe.h"
#include "replayer/run/graphs.h"
#include "replayer/run/run_error.h"
#include "step_profile.h"
#include "stop_rule.h"
#include "sustained.h"

namespace understudy::replayer {
namespace {

using et_schema::RankReport;

/// The first passes alternate with this many bare ones, which show the loop's own cost.
constexpr std::size_t kBarePasses = 3;
/// Passes in which communications overlap with operators.
constexpr int kOverlapPasses = 3;

}  // namespace

/// Returns the number of completed passes.
std::size_t Measurement::profile(RankReport& report) {
  static_cast<void>(stop_->any_rank(false));
  if (stop_->is_interrupted()) {
    return 0;
  }
  if (options_.asked.cold) {
    cold_ = std::make_unique<ColdCalls>(machine_, bound_, options_.device);
  }
  ProfileHook hook(bound_, options_.device, issue_.get(), cold_.get());
  std::vector<double> iterations_ms;
  std::size_t bare_passes = 0;
  OverlapHook beside(bound_, issue_.get());
  try {
    run_beside(beside);
    machine_.set_blocking(true);
    run_passes(hook, report, iterations_ms, bare_passes);
  } catch (const Interrupted&) {
    stop_->interrupt();
    if (issue_ != nullptr) {
      issue_->abandon_iteration();
    }
    hook.keep(iterations_ms.size());
    report.speed_probe_samples_ms.resize(
        std::min(iterations_ms.size(), report.speed_probe_samples_ms.size()));
  }
  machine_.set_blocking(false);
  if (iterations_ms.empty()) {
    return 0;
  }
  if (bare_passes > 0) {
    const LoopOverhead overhead = hook.overhead();
    report.host_overhead_ns_per_operator = overhead.ns_per_operator;
    report.host_overhead_resolution_ns = overhead.resolution_ns;
  }
  report_operator_times(bound_, hook.calls(), iterations_ms, beside.times(), cold_ == nullptr,
                        report);
  std::vector<std::vector<double>> device_ms;
  if (!options_.device.is_cpu() && !stop_->is_interrupted()) {
    device_ms = time_on_device(report);
  }
  if (graphs_ != nullptr) {
    report.graphs = graphs_->use(device_ms);
  }
  const std::unique_ptr<SustainedHook> sustained = sustain();
  const std::vector<et_schema::Counters> counters = count(report);
  if (options_.asked.operator_times) {
    instruction_times_ = instruction_times(
        program_, bound_, {hook.calls(), device_ms, counters, cold_.get(), sustained.get()});
  }
  if (job_.world_size() == 1) {
    for (et_schema::CollectiveTime& row : report.collectives) {
      row.algbw_gb_per_s.reset();  // a single rank: nothing crossed a bus
      row.busbw_gb_per_s.reset();
    }
  }
  return iterations_ms.size();
}

/// Calls each operator for seconds if that is asked for; else returns null.
std::unique_ptr<SustainedHook> Measurement::sustain() {
  if (options_.asked.sustained_s <= 0 || stop_->is_interrupted()) {
    return nullptr;
  }
  auto hook = std::make_unique<SustainedHook>(machine_, bound_, options_.device,
                                              options_.asked.sustained_s, [this](std::size_t step) {
                                                job_.note_progress();
                                                tell(Phase::kSustained, step, bound_.steps.size());
                                              });
  advance();
  try {
    guarded([&] { machine_.run(bound_, *hook); });
    finish_iteration(options_.device);
  } catch (const Interrupted&) {
    stop_->interrupt();
  }
  return hook;
}

/// Runs if ranks communicate in host memory, or a single rank simulates it, and one thread issues
/// all operators.
void Measurement::run_beside(OverlapHook& hook) {
  const bool has_own_threads = stop_->any_rank(own_threads_ != nullptr);
  const bool is_in_host_memory =
      stop_->any_rank(std::ranges::any_of(bound_.comms, [](const BoundComm& comm) {
        return comm.call.memory == et_schema::DeviceType::kCpu;
      }));
  const bool is_alone = job_.world_size() == 1 && options_.asked.comm_times_ns.empty();
  if (is_alone || has_own_threads || !is_in_host_memory) {
    return;
  }
  for (int pass = 0; pass < kOverlapPasses; ++pass) {
    timed([&] {
      hook.begin_pass();
      run_with(hook);
    });
  }
}

/// Profiles the second step; the first warms up the profiler. Returns nothing if a signal has ended
/// the measurement.
std::string Measurement::profiled_step(int rank) {
  ProfiledHook hook(bound_, rank, job_.world_size(), issue_.get());
  StepProfiler profiler(options_.device);
  static_cast<void>(stop_->any_rank(false));
  try {
    for (int step = 0; step < 2 && !stop_->is_interrupted(); ++step) {
      timed([&] {
        if (step > 0) {
          hook.begin_step();
        }
        run_with(hook);
        finish_iteration(options_.device);
        hook.end_step();
      });
    }
  } catch (const Interrupted&) {
    stop_->interrupt();
  }
  if (stop_->is_interrupted()) {
    return {};
  }
  return profiler.end(hook, rank, job_.world_size(), options_.asked.trace);
}

void Measurement::run_passes(ProfileHook& hook, RankReport& report,
                             std::vector<double>& iterations_ms, std::size_t& bare_passes) {
  const PassBudget passes = pass_budget(options_.asked.passes, report.iteration_ms.samples);
  double spent_ms = 0;
  for (std::size_t pass = 0; pass < passes.most; ++pass) {
    const bool is_over = stop_->any_rank(spent_ms > passes.budget_ms);
    if ((pass > 0 && is_over) || stop_->is_interrupted()) {
      return;
    }
    tell(Phase::kTimingPasses, pass, passes.most,
         std::isfinite(passes.budget_ms)
             ? std::optional((passes.budget_ms - spent_ms) / kMsPerSecond)
             : std::nullopt);
    if (options_.device.is_cpu()) {
      report.speed_probe_samples_ms.push_back(speed_probe_ms());
    }
    iterations_ms.push_back(profile_once(hook, false));
    spent_ms += iterations_ms.back();
    if (pass < kBarePasses && cold_ == nullptr) {
      profile_once(hook, true);
      ++bare_passes;
    }
  }
}

}  // namespace understudy::replayer
