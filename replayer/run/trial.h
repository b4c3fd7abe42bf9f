#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/report.h"
#include "replayer/backends/interface/job.h"
#include "replayer/bind/bind.h"
#include "replayer/bind/bound.h"
#include "replayer/bind/decisions.h"
#include "replayer/bind/externals.h"
#include "replayer/options/monitor.h"
#include "replayer/run/run.h"

namespace understudy::replayer {

/// The result of the first iteration.
struct TrialResult {
  BoundProgram program;  ///< the program for the following iterations
  std::uint64_t outputs_checked = 0;
  std::uint64_t output_mismatches = 0;
  std::vector<et_schema::OutputMismatch> mismatches;  ///< the first kMostMismatches
  std::optional<double> first_iteration_ms;
};

/// Runs the first iteration, instruction by instruction and untimed, and compares each output with
/// the recorded one. An operator that throws, or whose output has another dtype or shape, steps
/// down the ladder at once. Then the iteration restarts from the externals' initial content, until
/// no operator steps down. All ranks restart together.
class Trial {
 public:
  static constexpr std::size_t kMostMismatches = 100;

  Trial(Decisions& decisions, Machine& machine, Externals& externals, backends::Job& job,
        const std::vector<BoundGroup>& groups, bool continue_on_error,
        et_schema::CommOrder order = {}, c10::Device device = c10::Device(c10::kCPU),
        Monitor monitor = {});

  /// Throws Error: failed (an operator throws and has no further rung, unless `continue_on_error`;
  /// out of memory; a lost device), bad input (tensors do not fit a communication).
  [[nodiscard]] TrialResult run();
  /// Returns the time when the first instruction was issued.
  [[nodiscard]] std::chrono::steady_clock::time_point first_start() const { return first_start_; }

 private:
  void run_steps(BoundProgram& bound);
  void attempt(BoundProgram& bound, Step& step);
  void call(BoundProgram& bound, Step& step);
  /// Calls an operator that threw again, with zeros for indices made by other operators. If it
  /// succeeds, the makers are pinned, because no recorded values fit. Returns false if there are no
  /// such indices, or if the operator throws again.
  [[nodiscard]] bool call_with_zeros(BoundProgram& bound, Step& step);
  void note_makers(const et_schema::Instruction& instruction);
  /// Differences between an operator's outputs and the recorded ones.
  struct Difference {
    /// Another dtype, an unexpected tensor, or a missing one.
    bool in_kind = false;
    bool in_shape = false;
    [[nodiscard]] bool any() const { return in_kind || in_shape; }
  };

  /// Throws if the device no longer responds, since that is more than one operator's failure.
  void refuse_lost_device(const Step& step, const std::exception& failure) const;
  /// Finds another rung for an operator that returned another dtype or shape than recorded.
  [[nodiscard]] bool find_other_way(const Step& step, const Difference& found);
  void replace(const BoundProgram& bound, const Step& step);
  void step_down(const Step& step, const std::exception& failure);
  void guard_arguments(Step& step);
  /// Counts and records differences in an operator's outputs.
  [[nodiscard]] Difference check_outputs(const Step& step);
  [[nodiscard]] Difference check(const Step& step, const et_schema::Argument& recorded,
                                 const c10::IValue& value);
  void note(const Step& step, std::string field, std::string expected, std::string got);

  Decisions& decisions_;
  Machine& machine_;
  Externals& externals_;
  backends::Job& job_;
  const std::vector<BoundGroup>& groups_;
  bool continue_on_error_;
  et_schema::CommOrder order_;
  c10::Device device_;
  Monitor monitor_;
  bool changed_ = false;                               ///< a decision changed in this pass
  std::vector<const et_schema::Instruction*> makers_;  ///< by slot, in this pass; null: not made
                                                       ///< yet
  std::chrono::steady_clock::time_point first_start_;
  TrialResult result_;
};

}  // namespace understudy::replayer
