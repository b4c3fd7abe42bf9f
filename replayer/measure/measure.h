#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/formats/operator_times/operator_times.h"
#include "et_schema/model/report.h"
#include "replayer/backends/interface/job.h"
#include "replayer/bind/bound.h"
#include "replayer/bind/externals.h"
#include "replayer/counters/source.h"
#include "replayer/memory/heap.h"
#include "replayer/options/monitor.h"
#include "replayer/options/options.h"
#include "replayer/run/pace.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

class ColdCalls;
class GpuObservation;
class GraphedIteration;
class IssueHook;
class OverlapHook;
class OwnThreads;
class PerfSource;
class ProfileHook;
class StopRule;
class StreamHook;
class SustainedHook;

/// The options requested, and those derived from the device and the program.
struct MeasureOptions {
  ReplayOptions asked;
  c10::Device device{c10::kCPU};
  std::optional<std::uint64_t> page_faults;  ///< per iteration; unset: not controlled
  /// Opens the sources of counters, which must outlive the measurement. Called after all that is
  /// timed, since an open one may slow the device's calls.
  std::function<std::span<OpenedSource>()> open_sources = {};
};

/// Measures iterations of a program after its trial: samples, value health, memory, time by
/// operator and collective, the loop's own cost. All ranks measure the same iterations. A signal
/// ends the measurement early; the report then holds the results so far.
class Measurement {
 public:
  Measurement(const et_schema::Program& program, BoundProgram& bound, Machine& machine,
              Externals& externals, backends::Job& job, MeasureOptions options);
  ~Measurement();

  /// Fills the measured parts of the report.
  void run(et_schema::RankReport& report);
  /// Returns Kineto's profile of a step, as JSON. Must be called after run(), by all ranks
  /// together.
  [[nodiscard]] std::string profiled_step(int rank);
  /// Returns the times of single instructions, if requested. Must be called after run().
  [[nodiscard]] std::vector<et_schema::MeasuredCall> take_instruction_times() {
    return std::move(instruction_times_);
  }

 private:
  /// Runs `iteration`; converts an operator's exception to an Error that names the operator.
  void guarded(const std::function<void()>& iteration);
  template <typename Hook>
  void run_with(Hook& hook) {
    guarded([&] { machine_.run(bound_, hook); });
    end_streams();
  }
  void end_streams();
  /// Returns the milliseconds of `run` as one iteration, without its preparation.
  template <typename Run>
  double timed(Run&& run);
  double iterate();
  void run_iteration();
  void begin_row();
  std::size_t run_in_a_row(std::size_t iterations);
  void watch_restores(GpuObservation& gpu);
  void watch_gpu(GpuObservation& gpu, const std::vector<double>& samples_ms);
  [[nodiscard]] std::vector<std::vector<double>> time_on_device(et_schema::RankReport& report);
  /// Counts in passes of its own. Returns the counters of a call by step; empty: not counted.
  [[nodiscard]] std::vector<et_schema::Counters> count(et_schema::RankReport& report);
  bool count_iteration(OpenedSource& opened, et_schema::RankReport& report);
  void count_row(OpenedSource& opened, std::size_t iterations);
  bool count_calls(OpenedSource& opened, const std::vector<std::string>& asked,
                   std::vector<et_schema::Counters>& calls);
  using Rounds = std::vector<std::vector<et_schema::Counters>>;
  [[nodiscard]] Rounds count_rounds(OpenedSource& opened, const std::vector<std::string>& names,
                                    std::size_t ranges,
                                    const std::function<void(OpenedSource&)>& work);
  void find_zeros();
  void find_restore_interval();
  void prepare_issue();
  void prepare_streams();
  void capture_graphs();
  [[nodiscard]] Pacer make_pacer(const std::vector<std::uint64_t>& own_threads) const;
  void report_pace(et_schema::PaceUse& use, std::size_t iterations);
  void learn_heap();
  void settle_device();
  void advance();
  void scan_once(std::vector<std::uint8_t>& health, std::vector<et_schema::ValueFinding>& findings);
  [[nodiscard]] static bool is_unhealthy(const std::vector<std::uint8_t>& health);
  [[nodiscard]] bool stays_acceptable(std::size_t n, std::vector<std::uint8_t>& health,
                                      std::vector<et_schema::ValueFinding>& findings);
  void measure_iterations(et_schema::RankReport& report);
  void sample_iterations(et_schema::RankReport& report, std::vector<double>& samples,
                         std::uint64_t& peak, GpuObservation& gpu);
  /// `iterations`: the number measured before.
  void scan_values(et_schema::RankReport& report, std::size_t iterations);
  [[nodiscard]] std::size_t profile(et_schema::RankReport& report);
  void run_passes(ProfileHook& hook, et_schema::RankReport& report,
                  std::vector<double>& iterations_ms, std::size_t& bare_passes);
  void run_beside(OverlapHook& hook);
  [[nodiscard]] std::unique_ptr<SustainedHook> sustain();
  double profile_once(ProfileHook& hook, bool bare);
  [[nodiscard]] std::size_t most_of_ranks(std::size_t mine);
  void tell(Phase phase, std::size_t done = 0, std::optional<std::size_t> total = {},
            std::optional<double> left_s = {}) const;
  void report_use(et_schema::MeasurementUse& use, std::size_t timing_passes) const;

  const et_schema::Program& program_;
  BoundProgram& bound_;
  Machine& machine_;
  Externals& externals_;
  backends::Job& job_;
  MeasureOptions options_;
  et_schema::WaitUse waits_;
  std::unique_ptr<StreamHook> streams_;       ///< null: one stream
  std::unique_ptr<GraphedIteration> graphs_;  ///< null: operators are issued one by one
  et_schema::DeviceMemory captured_memory_;   ///< of the iteration that was captured
  std::unique_ptr<IssueHook> issue_;          ///< null: operators are issued as soon as possible
  std::unique_ptr<OwnThreads> own_threads_;   ///< null: all operators run on the caller's thread
  std::unique_ptr<ColdCalls> cold_;  ///< null: operators are timed as the step leaves caches
  std::unique_ptr<PerfSource> counting_;
  std::optional<HeapPages> heap_;
  GpuObservation* gpu_ = nullptr;  ///< set while an iteration is measured, else null
  std::unique_ptr<StopRule> stop_;
  std::size_t restore_every_ = 1;  ///< iterations between restores of the externals; 0: no restores
  std::string restore_reason_;
  std::size_t since_restore_ = 0;
  std::uint64_t restores_ = 0;
  std::vector<et_schema::MeasuredCall> instruction_times_;
  std::size_t iterations_ = 0;        ///< iterations of all kinds
  std::vector<std::uint8_t> health_;  ///< by slot: the findings of scans, as flags
};

}  // namespace understudy::replayer
