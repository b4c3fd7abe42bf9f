#include "et_schema/model/unrecorded.h"

#include <charconv>
#include <cstddef>
#include <vector>

#include "et_schema/facts/schema_text.h"

namespace understudy::et_schema {
namespace {

bool is_epsilon(std::string_view op, std::string_view argument) {
  if (argument == "eps" || argument == "epsilon") {
    return true;
  }
  // Adam's denominator. No program adds an exact zero to a list of tensors.
  return argument == "scalar" && (op == "aten::_foreach_add_" || op == "aten::_foreach_add");
}

/// Usual epsilons by operator, for those that a trace's six decimals lost.
double usual_epsilon(std::string_view op) {
  constexpr double kNormEpsilon = 1e-5;
  constexpr double kAdagradEpsilon = 1e-10;
  constexpr double kAdamEpsilon = 1e-8;
  if (op.find("norm") != std::string_view::npos) {
    return kNormEpsilon;
  }
  return op.find("fused_adagrad") != std::string_view::npos ? kAdagradEpsilon : kAdamEpsilon;
}

/// Returns the floating type of a dtype, or of the parts of a complex one.
std::optional<DType> floating_part(DType dtype) {
  if (dtype == DType::kComplexFloat64) {
    return DType::kFloat64;
  }
  if (dtype == DType::kComplexFloat32) {
    return DType::kFloat32;
  }
  return is_floating(dtype) ? std::optional(dtype) : std::nullopt;
}

/// Whether an instruction's argument `dtype` sets the type of its result.
struct Choice {
  bool is_free = false;        ///< `dtype` is None, or no such argument exists
  bool could_be_told = false;  ///< it has an argument `dtype`
};

Choice choice_of(const Program& program, const Instruction& instruction) {
  const std::vector<std::string_view> names = argument_names(program.schemas[*instruction.schema]);
  const auto at = static_cast<std::size_t>(std::ranges::find(names, "dtype") - names.begin());
  if (at >= names.size() || at >= instruction.args.size()) {
    return {true, false};
  }
  return {std::holds_alternative<Argument::None>(instruction.args[at].value), true};
}

std::optional<DType> shown_by(const Program& program, const Instruction& instruction) {
  const auto* result = instruction.kind != InstructionKind::kOp || instruction.results.empty()
                           ? nullptr
                           : std::get_if<Argument::SlotRef>(&instruction.results.front().value);
  const std::optional<DType> given =
      result == nullptr ? std::nullopt : floating_part(program.slots[result->id].dtype);
  if (!given || !instruction.name.starts_with("aten::") || !instruction.schema) {
    return std::nullopt;
  }
  bool has_tensors = false;
  bool are_whole_numbers = true;  // wrapped Python numbers do not count
  for_each_slot(instruction.args, [&](SlotId id) {
    const Slot& slot = program.slots[id];
    has_tensors = has_tensors || !slot.wrapped_number;
    are_whole_numbers = are_whole_numbers && (slot.wrapped_number || is_integral(slot.dtype));
  });
  const Choice choice = choice_of(program, instruction);
  const bool shows = has_tensors ? are_whole_numbers && !choice.could_be_told
                                 : choice.could_be_told && choice.is_free;
  return shows ? given : std::nullopt;
}

}  // namespace

std::optional<double> lost_epsilon(std::string_view op, std::string_view argument,
                                   std::string_view default_value, double recorded) {
  op = without_overload(op);
  if (recorded != 0 || !is_epsilon(op, argument)) {
    return std::nullopt;
  }
  double value = 0;
  const char* const end = default_value.data() + default_value.size();
  const auto [read, error] = std::from_chars(default_value.data(), end, value);
  const bool is_real = !default_value.empty() && error == std::errc() && read == end &&
                       default_value.find_first_of(".e") != std::string_view::npos;
  return is_real ? value : usual_epsilon(op);
}

DType default_dtype(const Program& program) {
  for (const Instruction& instruction : program.instructions) {
    if (const std::optional<DType> shown = shown_by(program, instruction)) {
      return *shown;
    }
  }
  return DType::kFloat32;
}

}  // namespace understudy::et_schema
