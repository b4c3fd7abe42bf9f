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
  kDirect,         ///< through the dispatcher, or as communication
  kSubstitute,     ///< by a function of substitutes.h; counted as substituted or stubbed
  kBody,           ///< by the operators that were recorded below it
  kDropped,        ///< not at all; its results get pre-made tensors
  kNotApplicable,  ///< means nothing on the target
  kUncounted       ///< aliases and markers
};

struct Decision {
  How how = How::kUncounted;
  std::string note;      ///< kSubstitute: by what; kDropped, kNotApplicable: why
  bool stubbed = false;  ///< kSubstitute that is a stub
  bool mapped = false;   ///< kSubstitute by the operator map
  std::shared_ptr<const Substitute> substitute = {};  ///< of kSubstitute
};

/// What was decided for each instruction of a program, bodies included. The first decisions need no
/// run; the trial changes them.
class Decisions {
 public:
  struct Options {
    c10::Device device{c10::kCPU};
    bool leaves = false;  ///< every operator is replayed by its body, down to the leaves
    Only only = Only::kAll;
    /// Operators that are called though they do more than compute.
    et_schema::AllowedOperators allowed = {};
    /// By communication, as in et_schema::CommOrder: how long it is to take
    /// (backends::Call::lasts); empty: as long as it does.
    std::vector<std::int64_t> comm_times_ns = {};
  };
  Decisions(const et_schema::Program& program, Options options);

  [[nodiscard]] const Decision& of(const et_schema::Instruction& instruction);
  /// Takes the next rung of the ladder for an operator that threw: its substitute, its body, or
  /// nothing. False: there is no further rung.
  [[nodiscard]] bool step_down(const et_schema::Instruction& instruction);
  /// Replays an operator that gave another dtype or shape than recorded by its body. False if no
  /// body can stand for it.
  [[nodiscard]] bool use_body(const et_schema::Instruction& instruction);
  /// Gives the operator's readers tensors of the recorded shape, made before the run; the report
  /// says `why`. False if they get them already.
  bool pin(const et_schema::Instruction& instruction, std::string why);
  [[nodiscard]] bool is_pinned(const et_schema::Instruction& instruction) const;
  void drop(const et_schema::Instruction& instruction, std::string reason);

  /// Counts and names for the whole program, as the report's contract defines them.
  [[nodiscard]] et_schema::Coverage coverage();

  /// Whether an instruction is an operator that `only` keeps.
  [[nodiscard]] bool is_counted(const et_schema::Instruction& instruction) const;
  /// The number of instructions that `only` excludes from the counts.
  [[nodiscard]] std::uint64_t filtered() const;

  [[nodiscard]] const et_schema::Program& program() const { return program_; }
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  [[nodiscard]] Decision decide(const et_schema::Instruction& instruction) const;
  [[nodiscard]] Decision decide_operator(const et_schema::Instruction& instruction) const;
  /// Decides on the operator's stand-in, or on none.
  [[nodiscard]] Decision decide_substitute(const et_schema::Instruction& instruction,
                                           std::string otherwise) const;
  /// What stands in for an operator that is not called: a substitute of ours, what was recorded
  /// below it if that computes its results, or the operator map. Not kDirect, kDropped if none
  /// does.
  [[nodiscard]] Decision decide_stand_in(const et_schema::Instruction& instruction,
                                         std::string otherwise) const;
  /// Whether all operators below it are replayed, by themselves or by what does the same work.
  [[nodiscard]] bool body_is_replayed(const et_schema::Instruction& instruction) const;
  [[nodiscard]] bool has_unknown_dtype(const et_schema::Instruction& instruction) const;
  /// Why an operator of a stranger's benchmark is not called; empty if it may be called. Throws
  /// Error (bad input) if it does more than compute.
  [[nodiscard]] const std::string& why_not_called(const c10::OperatorHandle& handle,
                                                  const et_schema::Instruction& instruction) const;
  [[nodiscard]] std::string why_pinned(const et_schema::Instruction& instruction) const;
  /// The decision of the instruction itself; for a body, the worst outcome of its operators.
  [[nodiscard]] Decision outcome(const et_schema::Instruction& instruction);

  const et_schema::Program& program_;
  Options options_;
  mutable std::unordered_map<c10::OperatorName, std::string> why_not_called_;
  std::unordered_map<const et_schema::Instruction*, Decision> made_;
  /// By the trial: the reason.
  std::unordered_map<const et_schema::Instruction*, std::string> pinned_;
};

}  // namespace understudy::replayer
