#include "replayer/measure/measure.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "cold_calls.h"
#include "et_schema/base/error.h"
#include "et_schema/base/statistics.h"
#include "gpu_observation.h"
#include "hooks.h"
#include "host_load.h"
#include "milliseconds.h"
#include "own_threads.h"
#include "replayer/counters/perf.h"
#include "replayer/device/device.h"
#include "replayer/measure/speed_probe.h"
#include "replayer/memory/memory.h"
#include "replayer/run/graphs.h"
#include "replayer/run/run_error.h"
#include "replayer/run/streams.h"
#include "stop_rule.h"

namespace understudy::replayer {
namespace {

using Clock = std::chrono::steady_clock;
using et_schema::RankReport;
using Milliseconds = std::chrono::duration<double, std::milli>;

/// Passes each operator's recorded allocations to the heap.
class HeapHook : public NoHook {
 public:
  HeapHook(HeapPages& heap, const et_schema::Program& program) : heap_(heap), program_(program) {}
  void stored(const Step& step) {
    const bool is_known = step.source != nullptr && step.source->timing;
    if (!is_known) {
      heap_.learn({}, std::nullopt);
      return;
    }
    // Only the program's own instructions have timings, not those in bodies.
    const auto index = static_cast<std::size_t>(step.source - program_.instructions.data());
    heap_.learn(heap_blocks_of(program_, index), step.source->timing->page_faults);
  }

 private:
  HeapPages& heap_;
  const et_schema::Program& program_;
};

bool is_power_of_two(std::size_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

}  // namespace

Measurement::Measurement(const et_schema::Program& program, BoundProgram& bound, Machine& machine,
                         Externals& externals, backends::Job& job, MeasureOptions options)
    : program_(program),
      bound_(bound),
      machine_(machine),
      externals_(externals),
      job_(job),
      options_(std::move(options)),
      counting_(std::make_unique<PerfSource>()),
      stop_(std::make_unique<StopRule>(StopLimits{options_.asked.iterations, options_.asked.seconds,
                                                  options_.asked.until_percent},
                                       job, options_.asked.monitor)),
      health_(program.slots.size()) {
  prepare_issue();
  if (options_.page_faults && options_.device.is_cpu()) {
    heap_.emplace(*options_.page_faults, at::get_num_threads());
  }
}

Measurement::~Measurement() = default;

void Measurement::run(RankReport& report) {
  tell(Phase::kValues);
  externals_.restore();
  externals_.place(machine_.slots(), machine_.given());
  machine_.prime(bound_);
  externals_.remember(bound_);
  externals_.draw_variants();
  find_zeros();
  find_restore_interval();
  learn_heap();
  settle_device();
  capture_graphs();
  for (int i = 0; i < options_.asked.warmup; ++i) {
    tell(Phase::kWarmUp, static_cast<std::size_t>(i),
         static_cast<std::size_t>(options_.asked.warmup));
    iterate();
  }
  restores_ = 0;
  measure_iterations(report);
  const std::size_t timing_passes = profile(report);
  report.complete = !stop_->is_interrupted();
  report_use(report.measurement, timing_passes);
}

void Measurement::tell(Phase phase, std::size_t done, std::optional<std::size_t> total,
                       std::optional<double> left_s) const {
  options_.asked.monitor.progress({phase, done, total, left_s});
}

void Measurement::report_use(et_schema::MeasurementUse& use, std::size_t timing_passes) const {
  use.ended_by = stop_->ended_by();
  use.until_percent = options_.asked.until_percent;
  use.timing_passes = timing_passes;
  use.restores = restores_;
  use.restore_every = restore_every_;
  use.restore_reason = restore_reason_;
}

/// Runs one iteration in which the heap records its blocks; ranks without a heap also run it.
void Measurement::learn_heap() {
  if (!stop_->any_rank(heap_.has_value())) {
    return;
  }
  advance();
  if (!heap_) {
    guarded([&] { machine_.run(bound_); });
    return;
  }
  HeapHook hook(*heap_, program_);
  heap_->begin_learning();
  guarded([&] { machine_.run(bound_, hook); });
  heap_->end_learning();
}

/// Empties the allocator's cache, which holds memory of scans, and refills it by one iteration.
void Measurement::settle_device() {
  if (options_.device.is_cpu()) {
    return;
  }
  advance();
  empty_device_cache(options_.device);
  guarded([&] { machine_.run(bound_); });
}

/// Must be called before each iteration.
void Measurement::advance() {
  if (restore_every_ != 0 && since_restore_ == restore_every_) {
    externals_.restore();
    since_restore_ = 0;
    ++restores_;
  }
  ++since_restore_;
  externals_.vary(iterations_++);
}

void Measurement::guarded(const std::function<void()>& iteration) {
  try {
    iteration();
  } catch (const et_schema::Error&) {
    throw;
  } catch (const std::exception& exception) {
    // A device reports its error at a later call. If it still responds, the operator itself threw.
    finish_iteration(options_.device);
    throw step_error(program_, *machine_.failed_step(), exception);
  }
}

void Measurement::end_streams() {
  if (streams_ != nullptr) {
    streams_->end_iteration();
  }
}

template <typename Run>
double Measurement::timed(Run&& run) {
  advance();
  synchronize(options_.device);  // restoring does not count as part of the iteration
  if (gpu_ != nullptr) {
    gpu_->begin_iteration();
  }
  if (heap_) {
    heap_->begin();
  }
  job_.note_progress();
  job_.barrier();
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
    run_iteration();
    finish_iteration(options_.device);
  });
}

void Measurement::run_iteration() {
  if (graphs_ != nullptr) {
    guarded([&] { graphs_->run(); });
    return;
  }
  if (issue_ == nullptr) {
    guarded([&] { machine_.run(bound_); });
    return;
  }
  try {
    guarded([&] {
      own_threads_ == nullptr ? machine_.run(bound_, *issue_) : own_threads_->run(*issue_);
    });
  } catch (...) {
    issue_->abandon_iteration();
    throw;
  }
  issue_->end_iteration();
}

void Measurement::measure_iterations(RankReport& report) {
  if (issue_ != nullptr) {
    issue_->begin_measuring();
  }
  if (own_threads_ != nullptr) {
    for (IssueHook* const hook : own_threads_->hooks()) {
      hook->begin_measuring();
    }
  }
  if (job_.world_size() == 1) {
    machine_.set_stop_signal(options_.asked.monitor.stop_signal);
  }
  std::vector<double> samples;
  std::uint64_t peak = captured_memory_.peak_bytes;
  GpuObservation gpu(options_.device);
  gpu_ = &gpu;
  const HostLoadMeter host;
  try {
    sample_iterations(report, samples, peak, gpu);
  } catch (const Interrupted&) {
    stop_->interrupt();
    report.iteration_speed_probe_samples_ms.resize(
        std::min(samples.size(), report.iteration_speed_probe_samples_ms.size()));
  }
  gpu_ = nullptr;
  report.host_load = host.load();
  report.waits = waits_;
  for (const BoundComm& comm : bound_.comms) {
    if (!comm.blocking) {
      ++(comm.joined_by == JoinedBy::kWait       ? report.waits.joins_recorded
         : comm.joined_by == JoinedBy::kDataFlow ? report.waits.joins_inferred
                                                 : report.waits.joins_missing);
    }
  }
  report_pace(report.pace, samples.size());  // of the measured iterations only, without the GPU's
                                             // window
  if (!stop_->is_interrupted() && options_.asked.iterations != 0) {
    watch_gpu(gpu, samples);
  }
  gpu.report(report.gpu);
  if (graphs_ != nullptr) {
    et_schema::DeviceMemory& memory = report.gpu->memory;
    memory.peak_bytes = std::max(memory.peak_bytes, captured_memory_.peak_bytes);
    memory.peak_requested_bytes =
        std::max(memory.peak_requested_bytes, captured_memory_.peak_requested_bytes);
    synchronize(options_.device);
    graphs_->release();  // makes room for iterations without graphs
    empty_device_cache(options_.device);
    scan_values(report, samples.size());
  }
  if (options_.asked.require_steady_clocks && report.gpu && !stop_->is_interrupted()) {
    require_steady_clocks(*report.gpu);
  }
  counting_->report(report);
  report.iteration_ms = et_schema::iteration_stats(std::move(samples));
  report.memory.peak_bytes = peak + externals_.touched_mapped_bytes();
  report.memory.live_peak_bytes = bound_.live_peak_bytes;
  report.memory.external_bytes = externals_.touched_bytes();
}

void Measurement::begin_row() {
  externals_.restore();
  since_restore_ = 0;
  synchronize(options_.device);
  job_.note_progress();
  job_.barrier();
}

/// Runs consecutive iterations from the externals' initial content, without scans or barriers.
/// Returns the number of restores.
std::size_t Measurement::run_in_a_row(std::size_t iterations) {
  std::size_t restores = 0;
  for (std::size_t i = 0; i < iterations; ++i) {
    // A GPU's power depends on the values that it computes with.
    if (restore_every_ != 0 && i > 0 && i % restore_every_ == 0) {
      externals_.restore();
      ++restores;
    }
    if (issue_ != nullptr) {
      issue_->begin_iteration();
    }
    run_iteration();
  }
  finish_iteration(options_.device);
  return restores;
}

/// Measures restores alone, to subtract those of the window from its energy and time.
void Measurement::watch_restores(GpuObservation& gpu) {
  const Clock::time_point begin = Clock::now();
  constexpr std::chrono::milliseconds kEnough{1100};  // at least ten changes of a 100 ms counter
  std::size_t restores = 0;
  gpu.begin_restores();
  while (restores == 0 || Clock::now() - begin < kEnough) {
    externals_.restore();
    synchronize(options_.device);  // otherwise the host would issue more than the device completes
                                   // in time
    ++restores;
  }
  gpu.end_restores(restores);
}

/// Runs consecutive iterations, so that the GPU's energy and clocks are the step's, except for
/// restores, which are measured separately. All ranks run the same number. Consecutive iterations
/// are faster than single ones; a short rehearsal measures by how much.
void Measurement::watch_gpu(GpuObservation& gpu, const std::vector<double>& samples_ms) {
  if (!stop_->any_rank(gpu.reads_health())) {
    return;
  }
  constexpr std::size_t kShorter = 10;
  const std::size_t one_by_one =
      most_of_ranks(window_iterations(et_schema::median(samples_ms).value_or(0)));
  const std::size_t rehearsed = std::max<std::size_t>(1, one_by_one / kShorter);
  begin_row();
  const Clock::time_point begin = Clock::now();
  run_in_a_row(rehearsed);
  const double row_ms = Milliseconds(Clock::now() - begin).count();
  const std::size_t iterations =
      most_of_ranks(window_iterations(row_ms / static_cast<double>(rehearsed)));
  if (restore_every_ != 0 && iterations > restore_every_) {
    watch_restores(gpu);
  }
  begin_row();
  gpu.begin_window();
  const std::size_t restores = run_in_a_row(iterations);
  gpu.end_window(iterations, restores);
  externals_.restore();
}

std::size_t Measurement::most_of_ranks(std::size_t mine) {
  std::size_t most = mine;
  for (const std::string& number : job_.all_gather_text(std::to_string(mine))) {
    most = std::max<std::size_t>(most, std::stoull(number));
  }
  return most;
}

void Measurement::sample_iterations(RankReport& report, std::vector<double>& samples,
                                    std::uint64_t& peak, GpuObservation& gpu) {
  const auto total = options_.asked.iterations
                         ? std::optional(static_cast<std::size_t>(*options_.asked.iterations))
                         : std::nullopt;
  double spent_ms = 0;
  for (bool last = options_.asked.iterations == 0; !last;) {
    tell(Phase::kIterations, samples.size(), total,
         options_.asked.seconds ? std::optional(*options_.asked.seconds - spent_ms / kMsPerSecond)
                                : std::nullopt);
    reset_cpu_peak();
    if (options_.device.is_cpu()) {
      report.iteration_speed_probe_samples_ms.push_back(speed_probe_ms());
    }
    counting_->begin();
    samples.push_back(iterate());
    counting_->end();
    spent_ms += samples.back();
    peak = std::max(peak, cpu_allocations().peak_bytes + device_peak_bytes(options_.device));
    gpu.end_iteration();
    last = stop_->is_last(samples, spent_ms / kMsPerSecond);
    if (!stop_->is_interrupted() && graphs_ == nullptr &&
        (last || is_power_of_two(samples.size()))) {
      scan_values(report, samples.size());
    }
  }
}

double Measurement::profile_once(ProfileHook& hook, bool bare) {
  return timed([&] {
    hook.begin_iteration(bare);
    run_with(hook);
  });
}

std::vector<std::vector<double>> Measurement::time_on_device(RankReport& report) {
  DeviceTimeHook on_device(program_, bound_, options_.device, cold_.get());
  const auto run = [&] {
    advance();
    guarded([&] { machine_.run(bound_, on_device); });
  };
  run();
  on_device.end_rehearsal();
  for (int pass = 0; pass < kDevicePasses; ++pass) {
    run();
    on_device.end_pass();
  }
  on_device.report(report.operators);
  return on_device.passes_ms();
}

}  // namespace understudy::replayer
