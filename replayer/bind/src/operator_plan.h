#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "et_schema/model/losses.h"
#include "et_schema/model/program.h"
#include "replayer/bind/decisions.h"
#include "replayer/dispatch/arguments.h"
#include "replayer/dispatch/schema_map.h"

namespace understudy::replayer {

/// The parts of an operator's step.
struct OperatorPlan {
  std::optional<c10::OperatorHandle> handle;  ///< called by the dispatcher; unset: a substitute
  std::vector<PlannedArgument> arguments;     ///< the stack, bottom first
  std::vector<et_schema::SlotId> written;     ///< slots that the operator writes in place
};

/// Plans the calls of a program's operators. Each schema is parsed and matched once.
class OperatorPlanner {
 public:
  /// `losses` counts epsilons that were recorded as 0 and get the operator's default.
  OperatorPlanner(const Decisions& decisions, et_schema::Losses& losses)
      : decisions_(decisions), losses_(losses) {}

  /// Throws BoxFailure if a recorded argument does not fit.
  [[nodiscard]] OperatorPlan plan_call(const et_schema::Instruction& instruction);
  [[nodiscard]] OperatorPlan plan_substitute(const et_schema::Instruction& instruction);

 private:
  void plan_recorded(const et_schema::Instruction& instruction,
                     const std::vector<et_schema::Argument>& arguments, OperatorPlan& plan);
  void plan_untyped_list(const et_schema::Instruction& instruction, std::size_t argument,
                         OperatorPlan& plan);
  [[nodiscard]] BoxContext context(const et_schema::Instruction& instruction) const;
  /// Returns the parsed schema; null if this LibTorch cannot parse the text.
  const c10::FunctionSchema* recorded_schema(const std::string& text);
  const MatchResult& match(const et_schema::Instruction& instruction);

  const Decisions& decisions_;
  et_schema::Losses& losses_;
  std::unordered_map<std::string, MatchResult> matches_;
  std::unordered_map<std::string, std::optional<c10::FunctionSchema>> schemas_;
};

}  // namespace understudy::replayer
