#include "replayer/measure.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "counters.h"
#include "et_schema/error.h"
#include "gpu_observation.h"
#include "hooks.h"
#include "operator_times.h"
#include "own_threads.h"
#include "replayer/device.h"
#include "replayer/memory.h"
#include "run_error.h"
#include "yardstick.h"

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
constexpr double kProbeSeconds = 1;

/// Passes in which each operator is timed, if no number is asked for: as many as iterations are
/// measured, and not for longer than those took. Where that are many, someone wants to know: then
/// so many passes, and for so long at least; what `compare` can tell is in them.
constexpr std::size_t kManyIterations = 20;
constexpr std::size_t kMostProfilePasses = 200;
constexpr double kLeastProfileMs = 10'000;
/// Of these so many alternate with bare ones, in which the loop's own cost shows.
constexpr std::size_t kBarePasses = 3;

constexpr double kMilli = 1000;

/// Tells the heap what each operator allocated in the original.
class HeapHook : public NoHook {
 public:
  explicit HeapHook(HeapPages& heap) : heap_(heap) {}
  void stored(const Step& step) {
    const bool is_known = step.source != nullptr && step.source->timing;
    heap_.learn(is_known ? &*step.source->timing : nullptr);
  }

 private:
  HeapPages& heap_;
};

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
      options_(std::move(options)),
      counting_(std::make_unique<SystemCounting>()),
      health_(program.slots.size()) {
  prepare_issue();
  if (options_.page_faults && options_.device.is_cpu()) {
    heap_.emplace(*options_.page_faults, at::get_num_threads());
  }
}

void Measurement::prepare_issue() {
  const bool paces = options_.pace.kind != Pace::Kind::kAsap;
  if (!paces && !options_.slow) {
    return;
  }
  const std::vector<std::uint64_t> threads = paces && options_.device.is_cpu()
                                                 ? overlapping_threads(program_)
                                                 : std::vector<std::uint64_t>();
  std::optional<Pacer> pacer;
  std::optional<Slowdown> slowdown;
  if (paces) {
    pacer.emplace(program_, bound_, options_.pace, threads);
  }
  if (options_.slow) {
    slowdown.emplace(bound_, *options_.slow);
  }
  issue_ = std::make_unique<IssueHook>(bound_, std::move(pacer), std::move(slowdown));
  if (!threads.empty()) {
    own_threads_ = std::make_unique<OwnThreads>(bound_, machine_, *issue_,
                                                plan_threads(program_, bound_, threads));
  }
}

void Measurement::report_pace(et_schema::PaceUse& use, std::size_t iterations) {
  use.mode = to_text(options_.pace);
  if (issue_ == nullptr || issue_->pacer() == nullptr) {
    return;
  }
  Pacer all = *issue_->pacer();
  if (own_threads_ != nullptr) {
    for (IssueHook* const hook : own_threads_->hooks()) {
      all.add(*hook->pacer());
      ++use.own_threads;
    }
  }
  all.report(use, iterations);
}

Measurement::~Measurement() = default;

void Measurement::run(RankReport& report) {
  externals_.restore();
  externals_.place(machine_.slots(), machine_.given());
  machine_.prime(bound_);
  externals_.remember(bound_);
  externals_.draw_variants();
  find_zeros();
  find_restore_interval();
  learn_heap();
  for (int i = 0; i < options_.warmup; ++i) {
    iterate();
  }
  measure_iterations(report);
  profile(report);
}

void Measurement::find_zeros() {
  if (!any_rank(externals_.begin_zeros())) {
    return;
  }
  for (std::size_t i = 0; i < Externals::kVariants; ++i) {
    externals_.vary(i);
    guarded([&] { machine_.run(bound_); });
  }
  externals_.settle_zeros();
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

/// One iteration in which the heap sees which blocks hold what; ranks without one go along.
void Measurement::learn_heap() {
  if (!any_rank(heap_.has_value())) {
    return;
  }
  advance();
  if (!heap_) {
    guarded([&] { machine_.run(bound_); });
    return;
  }
  HeapHook hook(*heap_);
  heap_->begin_learning();
  guarded([&] { machine_.run(bound_, hook); });
  heap_->end_learning();
}

/// To be called before each iteration.
void Measurement::advance() {
  if (since_restore_ == restore_every_) {
    externals_.restore();
    since_restore_ = 0;
  }
  ++since_restore_;
  externals_.vary(iterations_++);
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

template <typename Run>
double Measurement::timed(Run&& run) {
  advance();
  if (heap_) {
    heap_->begin();
  }
  backend_.note_progress();
  backend_.barrier();
  const Clock::time_point begin = Clock::now();
  if (issue_ != nullptr) {
    issue_->begin_iteration();
  }
  run();
  const double spent_ms = Milliseconds(Clock::now() - begin).count();
  if (heap_) {
    heap_->end();
  }
  return spent_ms;
}

double Measurement::iterate() {
  return timed([this] {
    if (issue_ == nullptr) {
      guarded([&] { machine_.run(bound_); });
    } else {
      guarded([&] {
        own_threads_ == nullptr ? machine_.run(bound_, *issue_) : own_threads_->run(*issue_);
      });
      issue_->end_iteration();
    }
    synchronize(options_.device);
  });
}

void Measurement::measure_iterations(RankReport& report) {
  reset_cpu_peak();
  reset_device_peak(options_.device);
  std::vector<double> samples;
  double spent_ms = 0;
  std::uint64_t peak = 0;
  bool last = options_.iterations == 0;
  if (issue_ != nullptr) {
    issue_->begin_measuring();
  }
  if (own_threads_ != nullptr) {
    for (IssueHook* const hook : own_threads_->hooks()) {
      hook->begin_measuring();
    }
  }
  GpuObservation gpu(options_.device);
  gpu.begin();
  while (!last) {
    if (options_.device.is_cpu()) {
      report.iteration_yardstick_samples_ms.push_back(yardstick_ms());
    }
    counting_->begin();
    samples.push_back(iterate());
    counting_->end();
    spent_ms += samples.back();
    peak = std::max(peak, cpu_allocations().peak_bytes + device_peak_bytes(options_.device));
    gpu.note_iteration();
    last = is_last(samples.size(), spent_ms / kMilli);
    if (last || is_power_of_two(samples.size())) {
      scan_values(report);
    }
    reset_cpu_peak();
    reset_device_peak(options_.device);
  }
  gpu.end(report.gpu);
  if (options_.require_steady_clocks && report.gpu) {
    require_steady_clocks(*report.gpu);
  }
  report.counters = counting_->mean();
  report_pace(report.pace, samples.size());
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

double Measurement::profile_once(ProfileHook& hook, bool bare) {
  return timed([&] {
    hook.begin_iteration(bare);
    guarded([&] { machine_.run(bound_, hook); });
  });
}

Measurement::ProfilePasses Measurement::profile_passes(
    const std::vector<double>& measured_ms) const {
  if (options_.passes) {
    return {static_cast<std::size_t>(*options_.passes), std::numeric_limits<double>::infinity()};
  }
  const double spent_ms = std::accumulate(measured_ms.begin(), measured_ms.end(), 0.0);
  if (measured_ms.size() >= kManyIterations) {
    return {kMostProfilePasses, std::max(spent_ms, kLeastProfileMs)};
  }
  return {std::max<std::size_t>(measured_ms.size(), 1), spent_ms};
}

void Measurement::profile(RankReport& report) {
  ProfileHook hook(bound_, options_.device, issue_.get());
  machine_.set_blocking(true);
  const ProfilePasses passes = profile_passes(report.iteration_ms.samples);
  std::vector<double> iterations_ms;
  double spent_ms = 0;
  for (std::size_t pass = 0;
       pass < passes.most && (pass == 0 || !any_rank(spent_ms > passes.budget_ms)); ++pass) {
    if (options_.device.is_cpu()) {
      report.yardstick_samples_ms.push_back(yardstick_ms());
    }
    iterations_ms.push_back(profile_once(hook, false));
    spent_ms += iterations_ms.back();
    if (pass < kBarePasses) {
      profile_once(hook, true);
    }
  }
  machine_.set_blocking(false);

  report.host_overhead_ns_per_operator = hook.overhead_ns();
  report_operator_times(bound_, hook.calls(), iterations_ms, report);
  if (!options_.device.is_cpu()) {
    DeviceTimeHook on_device(bound_, options_.device);
    advance();
    guarded([&] { machine_.run(bound_, on_device); });
    on_device.report(report.operators);
  }
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
