#include "replayer/results/results.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "et_schema/model/accelerator.h"
#include "et_schema/model/operator_trust.h"
#include "et_schema/model/schema_text.h"
#include "et_schema/support/overloaded.h"
#include "replayer/dispatch/arguments.h"
#include "replayer/dispatch/layout.h"
#include "replayer/dispatch/schema_map.h"
#include "replayer/substitutes/find_substitute.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {
namespace {

using c10::IValue;
using et_schema::Argument;
using et_schema::CallResults;
using et_schema::Device;
using et_schema::DType;
using et_schema::Instruction;
using et_schema::Program;
using et_schema::ResultTensor;
using et_schema::SlotId;

const c10::Device kNoMemory(c10::kMeta);

/// The tensors of one call: each occurrence of a slot is one, and an undefined tensor, too.
class InputTensors {
 public:
  explicit InputTensors(const Program& program) : program_(program) {}

  /// The arguments with each slot's number replaced by that of the tensor that was made for it.
  std::vector<Argument> take(const std::vector<Argument>& arguments) {
    std::vector<Argument> own;
    for (const Argument& argument : arguments) {
      own.push_back(take(argument));
    }
    mark_numbers();
    return own;
  }

  [[nodiscard]] const at::Tensor& operator[](SlotId id) const { return tensors_.at(id); }
  [[nodiscard]] std::span<const at::Tensor> all() const { return tensors_; }
  [[nodiscard]] const Device& device(SlotId id) const { return devices_.at(id); }

 private:
  Argument take(const Argument& argument) {
    if (const auto* slot = std::get_if<Argument::SlotRef>(&argument.value)) {
      const et_schema::Slot& layout = program_.slots.at(slot->id);
      tensors_.push_back(make_tensor(layout, kNoMemory));
      devices_.push_back(program_.storages.at(layout.storage).device);
      return {Argument::SlotRef{static_cast<SlotId>(tensors_.size() - 1)}};
    }
    if (std::holds_alternative<Argument::Undefined>(argument.value)) {
      tensors_.emplace_back();
      devices_.emplace_back();
    }
    if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
      Argument::List own;
      for (const Argument& item : *list) {
        own.push_back(take(item));
      }
      return {std::move(own)};
    }
    return argument;
  }

  /// Python's numbers are recorded as double or int64 tensors without dimensions, and do not decide
  /// dtypes as tensors do. A number beside tensors of another type is taken for one.
  void mark_numbers() {
    const auto may_be_number = [](const at::Tensor& tensor) {
      return tensor.dim() == 0 &&
             (tensor.scalar_type() == at::kDouble || tensor.scalar_type() == at::kComplexDouble);
    };
    const bool all = std::ranges::all_of(
        tensors_, [&](const auto& tensor) { return !tensor.defined() || may_be_number(tensor); });
    for (const at::Tensor& tensor : tensors_) {
      if (!all && tensor.defined() && may_be_number(tensor)) {
        tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
      }
    }
  }

  const Program& program_;
  std::vector<at::Tensor> tensors_;
  std::vector<Device> devices_;
};

IValue boxed(PlannedArgument plan, const InputTensors& inputs) {
  return std::visit(et_schema::Overloaded{[](IValue& value) { return value; },
                                          [&](SlotId slot) { return IValue(inputs[slot]); },
                                          [&](SlotList& list) {
                                            for (const auto& [position, slot] : list.elements) {
                                              if (list.optional) {
                                                list.boxed.toList().set(position, inputs[slot]);
                                              } else {
                                                list.boxed.toTensorList().set(position,
                                                                              inputs[slot]);
                                              }
                                            }
                                            return list.boxed;
                                          }},
                    plan);
}

bool is_of(const c10::Argument& target, c10::TypeKind kind) {
  const c10::Type* type = target.type().get();
  if (const auto* optional = type->castRaw<c10::OptionalType>()) {
    type = optional->getElementType().get();
  }
  return type->kind() == kind;
}

/// Everything lies on the meta device, so that a copy to another device would seem to be none.
bool changes_device(const Instruction& instruction, const InputTensors& inputs) {
  if (inputs.all().empty()) {
    return false;
  }
  return std::ranges::any_of(instruction.args, [&](const Argument& argument) {
    const auto* device = std::get_if<Argument::DeviceRef>(&argument.value);
    return device != nullptr && device->device.type != inputs.device(0).type;
  });
}

/// The arguments of the operator, on the meta device.
torch::jit::Stack stack_of(const Instruction& instruction, const std::vector<Argument>& arguments,
                           const OperatorMatch& match, const InputTensors& inputs) {
  et_schema::Losses losses;
  const BoxContext context{kNoMemory, et_schema::without_overload(instruction.name), &losses};
  torch::jit::Stack stack;
  const auto& targets = match.handle.schema().arguments();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::optional<std::size_t> source = match.sources[i];
    if (is_of(targets[i], c10::TypeKind::DeviceObjType)) {
      stack.emplace_back(kNoMemory);
    } else if (targets[i].name() == "pin_memory") {
      stack.emplace_back();
    } else if (targets[i].name() == "copy" && changes_device(instruction, inputs)) {
      stack.emplace_back(true);
    } else if (source) {
      stack.push_back(boxed(plan_argument(arguments[*source], targets[i], context), inputs));
    } else {
      stack.push_back(*targets[i].default_value());
    }
  }
  return stack;
}

ResultTensor describe_result(const at::Tensor& tensor, const InputTensors& inputs) {
  ResultTensor result;
  if (!tensor.defined()) {
    return result;
  }
  result.dtype = static_cast<DType>(tensor.scalar_type());
  result.sizes = tensor.sizes().vec();
  TORCH_CHECK(tensor.layout() == at::kStrided, "a result is not strided");
  result.strides = tensor.strides().vec();
  result.offset_from = tensor.storage_offset();
  for (std::size_t i = 0; i < inputs.all().size(); ++i) {
    const at::Tensor& input = inputs.all()[i];
    if (!input.defined() || !input.is_alias_of(tensor)) {
      continue;
    }
    result.storage_of = static_cast<int>(i);
    result.offset_from = tensor.storage_offset() - input.storage_offset();
    if (input.is_same(tensor)) {
      result.same_as = static_cast<int>(i);
    }
    break;
  }
  return result;
}

CallResults describe_results(const torch::jit::Stack& stack, const InputTensors& inputs) {
  CallResults results;
  for (const IValue& value : stack) {
    if (value.isTensor()) {
      results.tensors.push_back(describe_result(value.toTensor(), inputs));
    } else if (value.isTensorList()) {
      const std::vector<at::Tensor> list = value.toTensorVector();
      results.list_sizes.push_back(static_cast<int>(list.size()));
      for (const at::Tensor& tensor : list) {
        results.tensors.push_back(describe_result(tensor, inputs));
      }
    }
  }
  return results;
}

std::string first_line(const char* text) {
  const std::string_view all(text);
  return std::string(all.substr(0, all.find('\n')));
}

CallResults tried(const Program& program, const Instruction& instruction) {
  const std::string text = schema_text(program, instruction);
  InputTensors inputs(program);
  const std::vector<Argument> arguments = inputs.take(instruction.args);
  const MatchResult found = match_operator(parse_recorded_schema(text), arguments);
  if (!found.match) {
    return {.why_not = found.reason};
  }
  et_schema::refuse_operator(fmt::format("{}", c10::toString(found.match->handle.schema())),
                             instruction, {});
  torch::jit::Stack stack = stack_of(instruction, arguments, *found.match, inputs);
  found.match->handle.callBoxed(stack);
  return describe_results(stack, inputs);
}

}  // namespace

CallResults results_of(const Program& program, const Instruction& instruction) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::NoGradGuard no_gradients;
  try {
    return tried(program, instruction);
  } catch (const BoxFailure& failure) {
    return {.why_not = failure.reason};
  } catch (const c10::Error& error) {
    return {.why_not = first_line(error.what_without_backtrace())};
  } catch (const std::exception& error) {
    return {.why_not = first_line(error.what())};
  }
}

}  // namespace understudy::replayer
