#pragma once

#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/report.h"
#include "replayer/bind/bound.h"
#include "replayer/measure/counters.h"
#include "replayer/run/pace.h"
#include "replayer/run/run.h"
#include "replayer/run/streams.h"
#include "slowdown.h"

namespace understudy::replayer {

/// Changes when operators are issued and how long they take, where a replay is asked to.
class IssueHook {
 public:
  /// `streams`: null where there is one; else it must outlive this.
  IssueHook(const BoundProgram& bound, std::optional<Pacer> pacer, std::optional<Slowdown> slowdown,
            StreamHook* streams = nullptr)
      : first_(bound.steps.data()),
        pacer_(std::move(pacer)),
        slowdown_(std::move(slowdown)),
        streams_(streams) {}

  void begin_iteration() {
    if (streams_ != nullptr) {
      streams_->begin_iteration();
    }
    if (pacer_) {
      pacer_->begin_iteration();
    }
  }
  void built(const Step& step) {
    if (pacer_) {
      pacer_->wait(index(step));
    }
    if (streams_ != nullptr) {
      streams_->built(step);
    }
    if (slowdown_) {
      slowdown_->built(index(step));
    }
  }
  void called(const Step& step, const torch::jit::Stack& stack) {
    if (streams_ != nullptr) {
      streams_->called(step, stack);
    }
    if (slowdown_) {
      slowdown_->called(index(step));
    }
    if (pacer_) {
      pacer_->ended(index(step));
    }
  }
  void stored(const Step&) {}
  void dropped(const Step&) {}
  void end_iteration() {
    if (streams_ != nullptr) {
      streams_->end_iteration();
    }
    if (pacer_) {
      pacer_->end_iteration();
    }
  }
  void abandon_iteration() {
    if (streams_ != nullptr) {
      streams_->abandon_iteration();
    }
  }
  void begin_measuring() {
    if (pacer_) {
      pacer_->begin_measuring();
    }
  }
  /// Begins the iteration that `other` has begun, on another thread.
  void follow(const IssueHook& other) {
    if (pacer_) {
      pacer_->follow(*other.pacer_);
    }
  }
  [[nodiscard]] Pacer* pacer() { return pacer_ ? &*pacer_ : nullptr; }

 private:
  [[nodiscard]] std::size_t index(const Step& step) const {
    return static_cast<std::size_t>(&step - first_);
  }

  const Step* first_;
  std::optional<Pacer> pacer_;
  std::optional<Slowdown> slowdown_;
  StreamHook* streams_;
};

/// Nanoseconds that one reading of the clock adds to an interval.
[[nodiscard]] double clock_cost_ns();

/// What the run loop takes above a bare loop, as far as the clock tells.
struct LoopOverhead {
  std::optional<double> ns_per_operator;  ///< none: less than the resolution
  double resolution_ns = 0;               ///< the clock's own cost, once
};

/// `difference_ns`: what the loop was measured to take above a bare one, an operator. It holds
/// differences of intervals that are a few readings of the clock long: what is below one reading,
/// or negative, says that nothing can be told.
[[nodiscard]] LoopOverhead loop_overhead(double difference_ns, double clock_ns);

/// Times each step: the call itself, and what the loop does around it. What a bare loop would do
/// around the same call is timed as well, in iterations of its own and at the same places, so that
/// both meet the caches as the operator before has left them: copying a ready stack. Frees count
/// for neither, since both loops free the same.
class ProfileHook {
 public:
  /// `issue`: what paces and slows the operators down, or null.
  ProfileHook(const BoundProgram& program, c10::Device device, IssueHook* issue);

  /// Iterations with `bare` time the bare loop's part, the others the run loop's.
  void begin_iteration(bool bare);
  void built(const Step& step);
  void called(const Step& step, const torch::jit::Stack& stack);
  void stored(const Step&);
  void dropped(const Step&);

  /// Forgets what iterations that are not bare have shown beyond the first `count`.
  void keep(std::size_t count);

  /// Seconds of each step's calls, one entry an iteration that is not bare.
  [[nodiscard]] const std::vector<std::vector<double>>& calls() const { return calls_; }
  /// What the run loop takes above the bare one, an instruction: the mean over the instructions of
  /// the difference of their medians.
  [[nodiscard]] LoopOverhead overhead() const;

 private:
  using Clock = std::chrono::steady_clock;

  void copy_ready_stack(std::size_t step);
  [[nodiscard]] std::size_t index(const Step& step) const {
    return static_cast<std::size_t>(&step - first_);
  }

  /// Seconds that a step took of its communication's, where others took their turns in between.
  [[nodiscard]] double own_seconds(const Step& step, double seconds) const;

  const BoundProgram& program_;
  const Step* first_;
  c10::Device device_;
  IssueHook* issue_;
  bool bare_ = false;
  Clock::time_point last_;
  double building_ns_ = 0;                        ///< of the step at hand
  std::vector<std::vector<double>> calls_;        ///< by step
  std::vector<std::vector<double>> around_;       ///< by step, the run loop's, nanoseconds
  std::vector<std::vector<double>> bare_copies_;  ///< by step, the bare loop's, nanoseconds
  std::vector<torch::jit::Stack> ready_;          ///< by step: as a bare loop would hold it
  torch::jit::Stack stack_;
};

/// Counts what each call does, in passes of its own: reading the counters takes a microsecond.
class CountHook {
 public:
  using Counts = std::map<std::string, double>;

  /// Both must outlive it.
  CountHook(const BoundProgram& bound, const SystemCounting& counting)
      : first_(bound.steps.data()), counting_(counting), sums_(bound.steps.size()) {}

  void built(const Step&) { before_ = counting_.read(); }
  void called(const Step& step, const torch::jit::Stack&);
  void stored(const Step&) {}
  void dropped(const Step&) {}
  void end_pass() { ++passes_; }
  /// By step, of a call: the means over the passes.
  [[nodiscard]] std::vector<Counts> means() const;

 private:
  const Step* first_;
  const SystemCounting& counting_;
  et_schema::SystemCounters before_;
  std::vector<Counts> sums_;
  std::size_t passes_ = 0;
};

/// Looks for NaN, Inf and subnormals in the floating results of operators that write.
class ScanHook {
 public:
  static constexpr std::uint8_t kNan = 1;
  static constexpr std::uint8_t kInf = 2;
  static constexpr std::uint8_t kSubnormal = 4;
  static constexpr std::uint8_t kRecordedInf = 8;  ///< the program's own, as for a mask
  static constexpr std::uint8_t kUnhealthy = kNan | kInf | kSubnormal;
  static constexpr std::size_t kMostFindings = 20;

  /// `health`: by slot, flags are added.
  /// `findings`: the operators that flags come from first are added, up to kMostFindings.
  ScanHook(const et_schema::Program& program, std::vector<std::uint8_t>& health,
           std::vector<et_schema::ValueFinding>& findings)
      : health_(health),
        findings_(findings),
        program_(program),
        holds_recorded_inf_(program.storages.size()) {}

  void built(const Step&) {}
  void called(const Step& step, const torch::jit::Stack& stack);
  void stored(const Step&) {}
  void dropped(const Step&) {}

  void look(et_schema::SlotId slot, const at::Tensor& tensor);

 private:
  void find(const Step& step, et_schema::SlotId slot, const at::Tensor& tensor);
  [[nodiscard]] std::uint8_t flags_of(et_schema::SlotId slot, const at::Tensor& tensor) const;
  /// Whether the operator was recorded with an infinite argument, takes a logarithm of what had
  /// zeros, or reads what such a one wrote.
  [[nodiscard]] bool is_asked_for_inf(const et_schema::Instruction& instruction) const;

  std::vector<std::uint8_t>& health_;
  std::vector<et_schema::ValueFinding>& findings_;
  const et_schema::Program& program_;
  std::vector<bool> holds_recorded_inf_;  ///< by storage, in this iteration
};

}  // namespace understudy::replayer
