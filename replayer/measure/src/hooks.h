#pragma once

#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/report.h"
#include "replayer/bind/bound.h"
#include "replayer/run/pace.h"
#include "replayer/run/run.h"
#include "replayer/run/streams.h"
#include "slowdown.h"

namespace understudy::replayer {

class ColdCalls;

/// Applies streams, pace and a planted slowdown to the issue of operators.
class IssueHook {
 public:
  /// `streams` is null for a single stream; otherwise it must outlive this object.
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
  /// Continues the iteration that `other` has begun, on another thread.
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

/// Returns the nanoseconds that one reading of the clock adds to an interval.
[[nodiscard]] double clock_cost_ns();

/// The run loop's time beyond a bare loop, within the clock's resolution.
struct LoopOverhead {
  std::optional<double> ns_per_operator;  ///< unset: below the resolution
  double resolution_ns = 0;               ///< cost of one clock reading
};

/// `difference_ns`: the measured time of the loop beyond a bare one, per operator. The compared
/// intervals are only a few clock readings long, so a difference below one reading counts as
/// unknown.
[[nodiscard]] LoopOverhead loop_overhead(double difference_ns, double clock_ns);

/// Times each step: the call itself, and the loop's work around it. A bare loop's work around the
/// same call, the copy of a ready stack, is timed in separate iterations at the same places, so
/// that both find the caches as the previous operator left them. Frees do not count, since both
/// loops free the same.
class ProfileHook {
 public:
  /// `issue` paces and slows operators; `cold` calls each in pairs. Both may be null.
  ProfileHook(const BoundProgram& program, c10::Device device, IssueHook* issue, ColdCalls* cold);

  /// Iterations with `bare` time the bare loop's part, others the run loop's.
  void begin_iteration(bool bare);
  void built(const Step& step);
  void called(const Step& step, const torch::jit::Stack& stack);
  void stored(const Step&);
  void dropped(const Step&);

  /// Discards the times of iterations that are not bare, except for the first `count`.
  void keep(std::size_t count);

  /// Returns the seconds of each step's calls (the cold ones if there are), one entry per iteration
  /// that is not bare.
  [[nodiscard]] const std::vector<std::vector<double>>& calls() const { return calls_; }
  /// Returns the run loop's time beyond the bare loop, per instruction: the mean over the
  /// instructions of the difference of their medians.
  [[nodiscard]] LoopOverhead overhead() const;

 private:
  using Clock = std::chrono::steady_clock;

  void copy_ready_stack(std::size_t step);
  [[nodiscard]] std::size_t index(const Step& step) const {
    return static_cast<std::size_t>(&step - first_);
  }

  /// Returns the part of a step's `seconds` that its own communication took: in timing passes a
  /// step can also carry out others' turns, and others its own.
  [[nodiscard]] double own_seconds(const Step& step, double seconds) const;

  const BoundProgram& program_;
  const Step* first_;
  c10::Device device_;
  IssueHook* issue_;
  ColdCalls* cold_;
  bool bare_ = false;
  Clock::time_point last_;
  double building_ns_ = 0;                        ///< of the current step
  std::vector<std::vector<double>> calls_;        ///< by step
  std::vector<std::vector<double>> around_;       ///< by step, the run loop's, in ns
  std::vector<std::vector<double>> bare_copies_;  ///< by step, the bare loop's, in ns
  std::vector<torch::jit::Stack> ready_;          ///< by step: the stack of a bare loop
  torch::jit::Stack stack_;
};

/// Searches for NaN, Inf and subnormals in the floating results of operators that write their
/// results.
class ScanHook {
 public:
  static constexpr std::uint8_t kNan = 1;
  static constexpr std::uint8_t kInf = 2;
  static constexpr std::uint8_t kSubnormal = 4;
  static constexpr std::uint8_t kRecordedInf = 8;  ///< the program's own, such as a mask
  static constexpr std::uint8_t kUnhealthy = kNan | kInf | kSubnormal;
  static constexpr std::size_t kMostFindings = 20;

  /// `health`: flags by slot, which are added to. `findings`: the first operators to produce flags
  /// are added, up to kMostFindings.
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
  /// Returns true if the operator was recorded with an infinite argument, takes a logarithm of a
  /// tensor with zeros, or reads the result of such an operator.
  [[nodiscard]] bool is_asked_for_inf(const et_schema::Instruction& instruction) const;

  std::vector<std::uint8_t>& health_;
  std::vector<et_schema::ValueFinding>& findings_;
  const et_schema::Program& program_;
  std::vector<bool> holds_recorded_inf_;  ///< by storage, in this iteration
};

}  // namespace understudy::replayer
