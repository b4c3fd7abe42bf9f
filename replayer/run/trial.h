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

/// The results of the first iteration.
struct TrialResult {
  BoundProgram program;  ///< the program that the following iterations run
  std::uint64_t outputs_checked = 0;
  std::uint64_t output_mismatches = 0;
  std::vector<et_schema::OutputMismatch> mismatches;  ///< the first kMostMismatches
  std::optional<double> first_iteration_ms;
};

/// The first iteration, instruction by instruction and untimed. Each output is compared with the
/// recorded one. An operator that throws, or whose output has another dtype or shape, steps down
/// the ladder at once. Then the iteration starts again from the externals' first content, until no
/// operator steps down. All ranks start again together.
class Trial {
 public:
  static constexpr std::size_t kMostMismatches = 100;

  Trial(Decisions& decisions, Machine& machine, Externals& externals, backends::Job& job,
        const std::vector<BoundGroup>& groups, bool continue_on_error,
        et_schema::CommOrder order = {}, c10::Device device = c10::Device(c10::kCPU),
        Monitor monitor = {});

  /// Throws Error: failed (an operator that throws and has no further rung, unless
  /// `continue_on_error`; out of memory; a device that is lost), bad input (tensors that do not fit
  /// a communication).
  [[nodiscard]] TrialResult run();
  /// When the first instruction was issued.
  [[nodiscard]] std::chrono::steady_clock::time_point first_start() const { return first_start_; }

 private:
  void run_steps(BoundProgram& bound);
  void attempt(BoundProgram& bound, Step& step);
  void call(BoundProgram& bound, Step& step);
  /// Calls an operator that threw with zeros for the indices that others made. If it runs then,
  /// what made them is pinned: nothing recorded tells numbers that fit. False: it cannot be, or it
  /// throws all the same.
  [[nodiscard]] bool call_with_zeros(BoundProgram& bound, Step& step);
  void note_makers(const et_schema::Instruction& instruction);
  /// How an operator's outputs differ from the recorded ones.
  struct Difference {
    /// Another dtype, or a tensor where there was none, or none where there was one.
    bool in_kind = false;
    bool in_shape = false;
    [[nodiscard]] bool any() const { return in_kind || in_shape; }
  };

  /// Throws if the device does not answer any more, since that is more than one operator's failure.
  void refuse_lost_device(const Step& step, const std::exception& failure) const;
  /// Finds another way for an operator that gave another dtype or shape than recorded.
  [[nodiscard]] bool find_other_way(const Step& step, const Difference& found);
  void replace(const BoundProgram& bound, const Step& step);
  void step_down(const Step& step, const std::exception& failure);
  void guard_arguments(const Step& step);
  /// Counts and notes what differs in an operator's outputs.
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
  std::vector<const et_schema::Instruction*> makers_;  ///< by slot: in this pass; null: none yet
  std::chrono::steady_clock::time_point first_start_;
  TrialResult result_;
};

}  // namespace understudy::replayer
