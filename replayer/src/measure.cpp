#include "replayer/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "collective_time.h"
#include "hooks.h"
#include "replayer/device.h"
#include "replayer/memory.h"
#include "replayer/op_class.h"
#include "run_error.h"

namespace understudy::replayer {
namespace {

using Clock = std::chrono::steady_clock;
using et_schema::RankReport;
using et_schema::SlotId;
using Milliseconds = std::chrono::duration<double, std::milli>;

/// A step that learns from the same batch for ever drifts to zero gradients or to infinity. So the
/// externals get their first content back after as many iterations as were seen to stay healthy: at
/// most so many, looked for during at most so long.
constexpr std::size_t kMostBetweenRestores = 16;
constexpr double kProbeSeconds = 3;
constexpr int kProfilePasses = 3;          ///< of each kind
constexpr double kLongIterationMs = 2000;  ///< above it one pass of each kind is enough

constexpr double kMilli = 1000;

bool is_power_of_two(std::size_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

}  // namespace

Measurement::Measurement(const et_schema::Program& program, BoundProgram& bound, Machine& machine,
                         Externals& externals, backends::Backend& backend, MeasureOptions options)
    : program_(program),
      bound_(bound),
      machine_(machine),
      externals_(externals),
      backend_(backend),
      options_(options),
      health_(program.slots.size()) {}

void Measurement::run(RankReport& report) {
  externals_.restore();
  externals_.place(machine_.slots(), machine_.given());
  machine_.prime(bound_);
  externals_.remember(bound_);
  find_restore_interval();
  for (int i = 0; i < options_.warmup; ++i) {
    iterate();
  }
  measure_iterations(report);
  profile(report);
}

void Measurement::find_restore_interval() {
  const Clock::time_point begin = Clock::now();
  bool searching = true;
  for (std::size_t n = 1; searching && n <= kMostBetweenRestores; ++n) {
    std::vector<std::uint8_t> health(health_.size());
    std::vector<et_schema::ValueFinding> findings;
    const bool healthy = !any_rank(scan_once(health, findings));
    restore_every_ = healthy ? n : restore_every_;
    const double spent_s = Milliseconds(Clock::now() - begin).count() / kMilli;
    searching = healthy && !any_rank(spent_s > kProbeSeconds);
  }
  externals_.restore();
  since_restore_ = 0;
}

/// To be called before each iteration.
void Measurement::advance() {
  if (since_restore_ == restore_every_) {
    externals_.restore();
    since_restore_ = 0;
  }
  ++since_restore_;
}

template <typename Iteration>
void Measurement::guarded(Iteration&& iteration) {
  try {
    iteration();
  } catch (const et_schema::Error&) {
    throw;
  } catch (const std::exception& exception) {
    throw step_error(program_, *machine_.failed_step(), exception);
  }
}

double Measurement::iterate() {
  advance();
  backend_.barrier();
  const Clock::time_point begin = Clock::now();
  guarded([&] { machine_.run(bound_); });
  synchronize(options_.device);
  return Milliseconds(Clock::now() - begin).count();
}

void Measurement::measure_iterations(RankReport& report) {
  reset_cpu_peak();
  reset_device_peak(options_.device);
  std::vector<double> samples;
  double spent_ms = 0;
  std::uint64_t peak = 0;
  bool last = options_.iterations == 0;
  while (!last) {
    samples.push_back(iterate());
    spent_ms += samples.back();
    peak = std::max(peak, cpu_allocations().peak_bytes + device_peak_bytes(options_.device));
    last = is_last(samples.size(), spent_ms / kMilli);
    if (last || is_power_of_two(samples.size())) {
      scan_values(report);
    }
    reset_cpu_peak();
    reset_device_peak(options_.device);
  }
  report.iteration_ms = et_schema::iteration_stats(std::move(samples));
  report.memory.peak_bytes = peak + externals_.touched_mapped_bytes();
  report.memory.live_peak_bytes = bound_.live_peak_bytes;
  report.memory.external_bytes = externals_.touched_bytes();
}

bool Measurement::is_last(std::size_t done, double spent_s) {
  if (options_.iterations && done >= static_cast<std::size_t>(*options_.iterations)) {
    return true;
  }
  return options_.seconds && any_rank(spent_s >= *options_.seconds);
}

/// One iteration in which every result is looked at as soon as it is there. True if any number is
/// not healthy.
bool Measurement::scan_once(std::vector<std::uint8_t>& health,
                            std::vector<et_schema::ValueFinding>& findings) {
  ScanHook hook(program_, health, findings);
  guarded([&] { machine_.run(bound_, hook); });
  for (const SlotId slot : bound_.written) {
    if (!externals_.is_mapped(slot)) {
      hook.look(slot, machine_.slots()[slot]);
    }
  }
  return std::any_of(health.begin(), health.end(),
                     [](std::uint8_t flags) { return (flags & ScanHook::kUnhealthy) != 0; });
}

void Measurement::scan_values(RankReport& report) {
  advance();
  static_cast<void>(scan_once(health_, report.value_findings));
  const auto count = [&](std::uint8_t flag) {
    return static_cast<std::uint64_t>(std::count_if(
        health_.begin(), health_.end(), [&](std::uint8_t flags) { return (flags & flag) != 0; }));
  };
  report.values = {count(ScanHook::kNan), count(ScanHook::kInf), count(ScanHook::kSubnormal),
                   count(ScanHook::kRecordedInf)};
}

void Measurement::profile(RankReport& report) {
  const bool is_long = any_rank(report.iteration_ms.median.value_or(0) > kLongIterationMs);
  const int passes = is_long ? 1 : kProfilePasses;
  ProfileHook hook(bound_, options_.device);
  machine_.set_blocking(true);
  for (int i = 0; i < 2 * passes; ++i) {
    advance();
    backend_.barrier();
    hook.begin_iteration(i % 2 == 1);
    guarded([&] { machine_.run(bound_, hook); });
  }
  machine_.set_blocking(false);

  report.host_overhead_ns_per_operator = hook.overhead_ns();

  std::map<std::string, et_schema::OperatorTime> operators;
  CollectiveTimes collectives;
  for (std::size_t i = 0; i < bound_.steps.size(); ++i) {
    const Step& step = bound_.steps[i];
    if (step.source == nullptr || step.kind == StepKind::kGive || step.kind == StepKind::kAlias) {
      continue;
    }
    const std::string& name = step.source->name;
    et_schema::OperatorTime& time = operators[name];
    time.name = name;
    time.op_class = step.kind == StepKind::kStart ? "communication" : op_class(name);
    ++time.count;
    for (const double seconds : hook.calls()[i]) {
      time.ms += seconds * kMilli / (2 * passes);
    }
    if (step.kind == StepKind::kStart) {
      collectives.add(name, bound_.comms[step.index], hook.calls()[i]);
    }
  }
  for (auto& [name, time] : operators) {
    report.operators.push_back(std::move(time));
  }
  std::stable_sort(report.operators.begin(), report.operators.end(),
                   [](const auto& a, const auto& b) { return a.ms > b.ms; });
  report.collectives = collectives.rows();
  if (backend_.world_size() == 1) {
    for (et_schema::CollectiveTime& row : report.collectives) {
      row.algbw_gb_per_s.reset();  // one rank alone: nothing crossed a bus
      row.busbw_gb_per_s.reset();
    }
  }
}

bool Measurement::any_rank(bool mine) {
  if (backend_.world_size() == 1) {
    return mine;
  }
  const std::vector<std::string> all = backend_.all_gather_text(mine ? "yes" : "no");
  return std::find(all.begin(), all.end(), "yes") != all.end();
}

}  // namespace understudy::replayer
