#include "replayer/bind/decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "et_schema/facts/operator_map.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/bodies.h"
#include "et_schema/model/compiled_kernel.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/open_comms.h"
#include "replayer/dispatch/schema_map.h"
#include "replayer/substitutes/find_substitute.h"
#include "replayer/substitutes/mapped.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {
namespace {

using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;

Decision by_substitute(Substitute substitute, bool is_mapped = false) {
  const bool is_stub = substitute.rung == Rung::kStubbed;
  return {How::kSubstitute, substitute.by, is_stub, is_mapped,
          std::make_shared<const Substitute>(std::move(substitute))};
}

/// Returns true if no result's shape depends on values. LibTorch declares this only for its own
/// operators.
bool has_known_shape(const Instruction& instruction) {
  const auto handle = find_operator(instruction.name);
  return handle && instruction.name.starts_with("aten::") &&
         !handle->hasTag(at::Tag::dynamic_output_shape);
}

int badness(const Decision& decision) {
  switch (decision.how) {
    case How::kDropped:
      return 3;
    case How::kSubstitute:
      return decision.stubbed ? 2 : 1;
    default:
      return 0;
  }
}

bool is_operator(const Instruction& instruction) {
  return instruction.kind != InstructionKind::kAlias &&
         instruction.kind != InstructionKind::kMarker;
}

/// Returns true for a graph compiled by inductor, by the generator's name for it.
bool is_graph(const Instruction& instruction) {
  return instruction.name.starts_with("## Call CompiledFxGraph");
}

}  // namespace

Decisions::Decisions(const Program& program, Options options)
    : program_(program), options_(options) {}

const Decision& Decisions::of(const Instruction& instruction) {
  const auto found = made_.find(&instruction);
  if (found != made_.end()) {
    return found->second;
  }
  return made_.emplace(&instruction, decide(instruction)).first->second;
}

bool Decisions::is_counted(const Instruction& instruction) const {
  switch (options_.only) {
    case Only::kCompute:
      return is_operator(instruction) && !communicates(instruction);
    case Only::kComms:
      return communicates(instruction);
    case Only::kAll:
      break;
  }
  return is_operator(instruction);
}

std::uint64_t Decisions::filtered() const {
  return static_cast<std::uint64_t>(
      std::count_if(program_.instructions.begin(), program_.instructions.end(),
                    [&](const Instruction& candidate) {
                      return is_operator(candidate) && !is_counted(candidate);
                    }));
}

Decision Decisions::decide(const Instruction& instruction) const {
  if (options_.only == Only::kComms && !communicates(instruction)) {
    return {How::kUncounted, "", false};
  }
  switch (instruction.kind) {
    case InstructionKind::kAlias:
    case InstructionKind::kMarker:
      return {How::kUncounted, "", false};
    case InstructionKind::kCollective:
    case InstructionKind::kP2p:
    case InstructionKind::kWait:
      return {How::kDirect, "", false};
    case InstructionKind::kKernel:
      return decide_substitute(instruction, instruction.timing
                                                ? "no stub: it took no time that was recorded, and "
                                                  "nothing shows what it wrote"
                                                : et_schema::kNoKernelCode);
    case InstructionKind::kNative:
      return decide_substitute(instruction,
                               is_graph(instruction)
                                   ? "a compiled graph whose kernels the trace does not show"
                                   : "a label without operators, and no substitute is known");
    case InstructionKind::kOp:
      break;
  }
  return decide_operator(instruction);
}

Decision Decisions::decide_substitute(const Instruction& instruction, std::string otherwise) const {
  auto substitute = find_substitute(program_, instruction, options_.device);
  return substitute ? by_substitute(*std::move(substitute))
                    : Decision{How::kDropped, std::move(otherwise), false};
}

bool Decisions::has_unknown_dtype(const Instruction& instruction) const {
  bool found = false;
  et_schema::for_each_slot(instruction.args, [&](SlotId slot) {
    found = found || program_.slots[slot].dtype == et_schema::DType::kUndefined;
  });
  return found;
}

Decision Decisions::decide_operator(const Instruction& instruction) const {
  const c10::DeviceType device = options_.device.type();
  if (const auto reason = not_applicable_reason(instruction.name, device)) {
    return {How::kNotApplicable, *reason, false};
  }
  if (has_unknown_dtype(instruction)) {
    return {How::kDropped, "an argument of an element type that is not known here", false};
  }
  MatchResult result =
      match_operator(parse_recorded_schema(schema_text(program_, instruction)), instruction.args);
  if (result.match && !has_kernel(result.match->handle, device)) {
    result = {std::nullopt, "it has no kernel for this device"};
  }
  if (result.match) {
    if (const std::string& why = why_not_called(result.match->handle, instruction); !why.empty()) {
      result = {std::nullopt, why};
    }
  }
  if (result.match) {
    return {How::kDirect, "", false};
  }
  return decide_stand_in(instruction, std::move(result.reason));
}

Decision Decisions::decide_stand_in(const Instruction& instruction, std::string otherwise) const {
  if (auto substitute = find_substitute(program_, instruction, options_.device)) {
    return by_substitute(*std::move(substitute));
  }
  const bool has_body = et_schema::body_makes_results(program_, instruction);
  const std::string schema = schema_text(program_, instruction);
  if (et_schema::operator_map().find_name(instruction.name) != nullptr &&
      !(has_body && body_is_replayed(instruction))) {
    auto mapped = find_mapped(schema, options_.device);
    if (auto* substitute = std::get_if<Substitute>(&mapped)) {
      return by_substitute(std::move(*substitute), /*is_mapped=*/true);
    }
    otherwise += "; " + std::get<std::string>(mapped);
  }
  if (has_body) {
    return {How::kBody, "", false};
  }
  return {How::kDropped, std::move(otherwise), false};
}

bool Decisions::body_is_replayed(const Instruction& instruction) const {
  return std::ranges::all_of(instruction.body, [&](const Instruction& inner) {
    const Decision decision = decide(inner);
    return decision.how == How::kBody ? body_is_replayed(inner)
                                      : badness(decision) <= badness({How::kSubstitute, "", false});
  });
}

const std::string& Decisions::why_not_called(const c10::OperatorHandle& handle,
                                             const Instruction& instruction) const {
  const auto known = why_not_called_.find(handle.operator_name());
  if (known != why_not_called_.end()) {
    return known->second;
  }
  std::string why;
  const std::string name = c10::toString(handle.operator_name());
  if (!et_schema::allows(options_.allowed, name)) {
    const std::string schema = c10::toString(handle.schema());
    et_schema::refuse_operator(schema, instruction, options_.allowed);
    if (const auto trust = et_schema::trust_of(schema);
        trust.reach == et_schema::OperatorReach::kUnknown) {
      why = fmt::format("{}; --allow-operator {} calls it", trust.why,
                        et_schema::without_overload(name));
    }
  }
  return why_not_called_.emplace(handle.operator_name(), std::move(why)).first->second;
}

bool Decisions::step_down(const Instruction& instruction) {
  const How how = of(instruction).how;
  if (instruction.kind == InstructionKind::kOp && how == How::kDirect) {
    Decision decision = decide_stand_in(instruction, "");
    if (decision.how != How::kDropped) {
      made_[&instruction] = std::move(decision);
      return true;
    }
  }
  return use_body(instruction);
}

bool Decisions::use_body(const Instruction& instruction) {
  const How how = of(instruction).how;
  const bool can = instruction.kind == InstructionKind::kOp &&
                   (how == How::kDirect || how == How::kSubstitute) &&
                   et_schema::body_makes_results(program_, instruction);
  if (can) {
    made_[&instruction] = {How::kBody, "", false};
  }
  return can;
}

bool Decisions::pin(const Instruction& instruction, std::string why) {
  return !instruction.pinned && pinned_.emplace(&instruction, std::move(why)).second;
}

std::string Decisions::why_pinned(const Instruction& instruction) const {
  const auto found = pinned_.find(&instruction);
  if (found != pinned_.end()) {
    return found->second;
  }
  if (et_schema::allocates_memory(instruction.name)) {
    return "memory that is read before all of it is written";
  }
  return has_known_shape(instruction) ? "made values would not give numbers that fit"
                                      : "its shape depends on values";
}

bool Decisions::is_pinned(const Instruction& instruction) const {
  return instruction.pinned || pinned_.count(&instruction) > 0;
}

void Decisions::drop(const Instruction& instruction, std::string reason) {
  made_[&instruction] = {How::kDropped, std::move(reason), false};
}

Decision Decisions::outcome(const Instruction& instruction) {
  const Decision own = of(instruction);
  if (own.how != How::kBody) {
    return own;
  }
  Decision worst{How::kDirect, "", false};
  for (const Instruction& inner : instruction.body) {
    Decision decision = outcome(inner);
    if (badness(decision) > badness(worst)) {
      worst = std::move(decision);
      worst.note =
          std::string(et_schema::without_overload(inner.name)) + " in its body: " + worst.note;
    }
  }
  return worst;
}

}  // namespace understudy::replayer
