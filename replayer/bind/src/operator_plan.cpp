#include "operator_plan.h"

#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <algorithm>
#include <variant>

#include "et_schema/base/assert.h"
#include "et_schema/facts/schema_text.h"
#include "replayer/substitutes/find_substitute.h"

namespace understudy::replayer {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::SlotId;

void note_written(const Argument& argument, const c10::Argument& target, OperatorPlan& plan) {
  const c10::AliasInfo* alias = target.alias_info();
  if (alias == nullptr || !alias->isWrite()) {
    return;
  }
  const std::vector<Argument> one = {argument};
  for_each_slot(one, [&](SlotId slot) { plan.written.push_back(slot); });
}

}  // namespace

BoxContext OperatorPlanner::context(const Instruction& instruction) const {
  return {decisions_.options().device, et_schema::without_overload(instruction.name), &losses_};
}

OperatorPlan OperatorPlanner::plan_call(const Instruction& instruction) {
  const MatchResult& result = match(instruction);
  UNDERSTUDY_ASSERT(result.match.has_value());
  const auto& target = result.match->handle.schema().arguments();
  OperatorPlan plan;
  plan.handle = result.match->handle;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const std::optional<std::size_t> source = result.match->sources[i];
    if (!source) {
      plan.arguments.emplace_back(*target[i].default_value());
      continue;
    }
    const Argument& recorded = instruction.args[*source];
    plan.arguments.push_back(plan_argument(recorded, target[i], context(instruction)));
    note_written(recorded, target[i], plan);
  }
  return plan;
}

OperatorPlan OperatorPlanner::plan_substitute(const Instruction& instruction) {
  OperatorPlan plan;
  if (instruction.kind == InstructionKind::kNative) {
    // The lists are the gradients, the forward operator's arguments, and the allocations below the
    // label.
    plan_untyped_list(instruction, 0, plan);
    if (instruction.args.size() > 1) {
      if (const auto* forward = std::get_if<Argument::List>(&instruction.args[1].value)) {
        plan_recorded(instruction, *forward, plan);
      }
    }
    plan_untyped_list(instruction, 2, plan);
  } else {
    plan_recorded(instruction, instruction.args, plan);
  }
  return plan;
}

void OperatorPlanner::plan_untyped_list(const Instruction& instruction, std::size_t argument,
                                        OperatorPlan& plan) {
  if (argument >= instruction.args.size()) {
    return;
  }
  if (const auto* items = std::get_if<Argument::List>(&instruction.args[argument].value)) {
    for (const Argument& item : *items) {
      plan.arguments.push_back(plan_untyped(item, context(instruction)));
    }
  }
}

/// Boxes arguments by the recorded schema, which substitutes expect.
void OperatorPlanner::plan_recorded(const Instruction& instruction,
                                    const std::vector<Argument>& arguments, OperatorPlan& plan) {
  const c10::FunctionSchema* schema =
      instruction.kind == InstructionKind::kKernel
          ? nullptr
          : recorded_schema(schema_text(decisions_.program(), instruction));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (schema == nullptr || i >= schema->arguments().size()) {
      plan.arguments.push_back(plan_untyped(arguments[i], context(instruction)));
      continue;
    }
    const c10::Argument& target = schema->arguments()[i];
    plan.arguments.push_back(plan_argument(arguments[i], target, context(instruction)));
    note_written(arguments[i], target, plan);
  }
}

const c10::FunctionSchema* OperatorPlanner::recorded_schema(const std::string& text) {
  auto [found, added] = schemas_.try_emplace(text);
  if (added) {
    try {
      found->second = torch::jit::parseSchema(et_schema::readable_schema(text));
    } catch (const c10::Error&) {
      found->second.reset();
    }
  }
  return found->second ? &*found->second : nullptr;
}

const MatchResult& OperatorPlanner::match(const Instruction& instruction) {
  const std::string text = schema_text(decisions_.program(), instruction);
  // The match depends on which arguments are tensors; calls with the same schema almost always
  // agree.
  auto [found, added] = matches_.try_emplace(text);
  if (added || !found->second.match ||
      std::any_of(
          found->second.match->sources.begin(), found->second.match->sources.end(),
          [&](const auto& source) { return source && *source >= instruction.args.size(); })) {
    found->second = match_operator(parse_recorded_schema(text), instruction.args);
  }
  return found->second;
}

}  // namespace understudy::replayer
