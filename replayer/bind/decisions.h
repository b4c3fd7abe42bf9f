#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "et_schema/model/operator_trust.h"
#include "et_schema/model/program.h"
#include "et_schema/model/report.h"
#include "replayer/options/options.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// How an instruction is replayed on the target.
enum class How : std::uint8_t {
  kDirect,         ///< by the dispatcher, or as a communication
  kSubstitute,     ///< by a function of substitutes.h; counted as substituted or stubbed
  kBody,           ///< by the operators recorded below it
  kDropped,        ///< not replayed; its results are pre-made tensors
  kNotApplicable,  ///< without meaning on the target
  kUncounted       ///< aliases and markers
};

struct Decision {
  How how = How::kUncounted;
  std::string note;      ///< kSubstitute: the replacement; kDropped, kNotApplicable: the reason
  bool stubbed = false;  ///< the substitute is a stub
  bool mapped = false;   ///< the substitute comes from the operator map
  std::shared_ptr<const Substitute> substitute = {};  ///< set for kSubstitute
};

/// The decision for each instruction of a program, bodies included. The initial decisions need no
/// run; the trial changes them.
class Decisions {
 public:
  struct Options {
    c10::Device device{c10::kCPU};
    Only only = Only::kAll;
    /// Operators that may be called although they have effects beyond computing.
    et_schema::AllowedOperators allowed = {};
    /// By communication, as in et_schema::CommOrder: the duration to simulate
    /// (backends::Call::lasts). If empty, durations are not simulated.
    std::vector<std::int64_t> comm_times_ns = {};
  };
  Decisions(const et_schema::Program& program, Options options);

  [[nodiscard]] const Decision& of(const et_schema::Instruction& instruction);
  /// Moves an operator that threw to the next rung of the ladder: its substitute, else its body.
  /// Returns false if neither is left.
  [[nodiscard]] bool step_down(const et_schema::Instruction& instruction);
  /// Replays an operator by its body, because it returned another dtype or shape than recorded.
  /// Returns false if no body can replace it.
  [[nodiscard]] bool use_body(const et_schema::Instruction& instruction);
  /// Replaces the operator's results by tensors of the recorded shape, made before the run. The
  /// report shows `why`. Returns false if the operator is pinned already.
  bool pin(const et_schema::Instruction& instruction, std::string why);
  [[nodiscard]] bool is_pinned(const et_schema::Instruction& instruction) const;
  void drop(const et_schema::Instruction& instruction, std::string reason);

  /// Returns counts and names for the whole program, as the report's format defines them.
  [[nodiscard]] et_schema::Coverage coverage();

  /// Returns true if the instruction is an operator that `only` keeps.
  [[nodiscard]] bool is_counted(const et_schema::Instruction& instruction) const;
  /// Returns the number of instructions that `only` excludes from the counts.
  [[nodiscard]] std::uint64_t filtered() const;

  [[nodiscard]] const et_schema::Program& program() const { return program_; }
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  [[nodiscard]] Decision decide(const et_schema::Instruction& instruction) const;
  [[nodiscard]] Decision decide_operator(const et_schema::Instruction& instruction) const;
  /// Decides on a replacement of the operator, or on none.
  [[nodiscard]] Decision decide_substitute(const et_schema::Instruction& instruction,
                                           std::string otherwise) const;
  /// Decides on the replacement of an operator that is not called: a substitute, the body if it
  /// computes the operator's results, or the operator map. Never kDirect; kDropped if none applies.
  [[nodiscard]] Decision decide_stand_in(const et_schema::Instruction& instruction,
                                         std::string otherwise) const;
  /// Returns true if each operator of the body is replayed, directly or by equivalent work.
  [[nodiscard]] bool body_is_replayed(const et_schema::Instruction& instruction) const;
  [[nodiscard]] bool has_unknown_dtype(const et_schema::Instruction& instruction) const;
  /// Returns why an operator of an untrusted benchmark is not called; empty if it may be called.
  /// Throws Error (bad input) if it has effects beyond computing.
  [[nodiscard]] const std::string& why_not_called(const c10::OperatorHandle& handle,
                                                  const et_schema::Instruction& instruction) const;
  [[nodiscard]] std::string why_pinned(const et_schema::Instruction& instruction) const;
  /// Returns the instruction's own decision; for a body, the worst outcome of its operators.
  [[nodiscard]] Decision outcome(const et_schema::Instruction& instruction);

  const et_schema::Program& program_;
  Options options_;
  mutable std::unordered_map<c10::OperatorName, std::string> why_not_called_;
  std::unordered_map<const et_schema::Instruction*, Decision> made_;
  /// Pinned by the trial, with the reason.
  std::unordered_map<const et_schema::Instruction*, std::string> pinned_;
};

}  // namespace understudy::replayer
