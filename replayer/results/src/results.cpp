#include "replayer/results/results.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "et_schema/base/overloaded.h"
#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/operator_trust.h"
#include "et_schema/model/program.h"
#include "meta_call.h"
#include "replayer/dispatch/arguments.h"
#include "replayer/dispatch/layout.h"
#include "replayer/dispatch/schema_map.h"
#include "replayer/substitutes/find_substitute.h"
#include "replayer/substitutes/mapped.h"

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
const c10::Device kMemory(c10::kCPU);

/// The tensors of a call: one for each occurrence of a slot, and for each undefined tensor.
class InputTensors {
 public:
  InputTensors(const Program& program, c10::Device where) : program_(program), where_(where) {}

  /// Makes the tensors. Returns the arguments with slot numbers replaced by tensor numbers.
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
  [[nodiscard]] c10::Device where() const { return where_; }
  [[nodiscard]] bool was_on_accelerator() const {
    return std::ranges::any_of(devices_, et_schema::is_accelerator);
  }

 private:
  Argument take(const Argument& argument) {
    if (const auto* slot = std::get_if<Argument::SlotRef>(&argument.value)) {
      const et_schema::Slot& layout = program_.slots.at(slot->id);
      tensors_.push_back(make_tensor(layout, where_));
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

  /// Python numbers are recorded as 0-dim double or int64 tensors, and do not decide dtypes as
  /// tensors do. A double beside tensors of another dtype is assumed to be a number.
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
  c10::Device where_;
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

/// Returns true if a device argument differs from the recorded device of the inputs. LibTorch
/// cannot tell, because all tensors are on the meta device.
bool changes_device(const Instruction& instruction, const InputTensors& inputs) {
  if (inputs.all().empty()) {
    return false;
  }
  return std::ranges::any_of(instruction.args, [&](const Argument& argument) {
    const auto* device = std::get_if<Argument::DeviceRef>(&argument.value);
    return device != nullptr && device->device.type != inputs.device(0).type;
  });
}

/// Returns the operator's arguments; device arguments become the inputs' device.
torch::jit::Stack stack_of(const Instruction& instruction, const std::vector<Argument>& arguments,
                           const OperatorMatch& match, const InputTensors& inputs) {
  et_schema::Losses losses;
  const BoxContext context{inputs.where(), et_schema::without_overload(instruction.name), &losses};
  torch::jit::Stack stack;
  const auto& targets = match.handle.schema().arguments();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::optional<std::size_t> source = match.sources[i];
    if (is_of(targets[i], c10::TypeKind::DeviceObjType)) {
      stack.emplace_back(inputs.where());
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

ResultTensor describe_result(const at::Tensor& tensor, std::span<const at::Tensor> inputs) {
  ResultTensor result;
  if (!tensor.defined()) {
    return result;
  }
  TORCH_CHECK(!tensor.is_nested(), et_schema::kNestedResult);
  result.dtype = static_cast<DType>(tensor.scalar_type());
  result.sizes = tensor.sizes().vec();
  if (tensor.layout() != at::kStrided) {
    return result;
  }
  result.strides = tensor.strides().vec();
  result.offset_from = tensor.storage_offset();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined() && inputs[i].is_alias_of(tensor)) {
      result.storage_of = static_cast<int>(i);
      result.offset_from -= inputs[i].storage_offset();
      result.same_as = inputs[i].is_same(tensor) ? result.storage_of : -1;
      break;
    }
  }
  return result;
}

CallResults describe_results(const torch::jit::Stack& stack, std::span<const at::Tensor> inputs) {
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

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

CallResults unknown(std::string why, bool fails = false) {
  CallResults results;
  results.why_not = std::move(why);
  results.fails = fails;
  return results;
}

constexpr const char* kOnContent = "they depend on what its tensors hold";

/// Returns the operator without a kernel from LibTorch's message, possibly called by a composite
/// operator; empty for other messages.
std::string without_kernel(const c10::Error& error) {
  const std::string message = first_line(error.what_without_backtrace());
  const std::size_t begin = message.find("aten::");
  const std::size_t end = message.find_first_of(":' ", begin == std::string::npos ? 0 : begin + 6);
  const bool is_missing = dynamic_cast<const c10::NotImplementedError*>(&error) != nullptr;
  return is_missing && begin != std::string::npos ? message.substr(begin, end - begin) : "";
}

std::string reason_of(const c10::Error& error) {
  const std::string missing = without_kernel(error);
  return missing.empty() ? first_line(error.what_without_backtrace())
                         : missing + " has no kernel for tensors without memory";
}

bool depends_on_content(std::string_view op) {
  const et_schema::OperatorFacts& facts = et_schema::operator_facts(op);
  return facts.counts || op == "aten::_local_scalar_dense" ||
         std::ranges::any_of(facts.arguments, [](const et_schema::ArgumentFact& argument) {
           return argument.meaning == et_schema::Meaning::kSelectsResult;
         });
}

/// A call, tried in several ways.
class Trial {
 public:
  Trial(const Program& program, const Instruction& instruction, std::int64_t most_tried_bytes)
      : program_(program),
        instruction_(instruction),
        most_tried_bytes_(most_tried_bytes),
        inputs_(program, kNoMemory),
        arguments_(inputs_.take(instruction.args)) {}

  CallResults run() {
    const MatchResult found =
        match_operator(parse_recorded_schema(schema_text(program_, instruction_)), arguments_);
    if (!found.match) {
      std::optional<CallResults> mapped = mapped_results();
      return mapped ? *std::move(mapped) : unknown(found.reason);
    }
    if (takes_sparse_apart()) {
      return unknown(kOnContent);
    }
    const c10::OperatorHandle& handle = found.match->handle;
    et_schema::refuse_operator(c10::toString(handle.schema()), instruction_, {});
    set_recorded_on_cpu(!inputs_.was_on_accelerator());
    // A kernel may resize its inputs.
    const std::vector<at::Tensor> given(inputs_.all().begin(), inputs_.all().end());
    try {
      torch::jit::Stack stack = stack_of(instruction_, arguments_, *found.match, inputs_);
      handle.callBoxed(stack);
      CallResults results = describe_results(stack, given);
      mark_absolute(*found.match, results);
      return results;
    } catch (const c10::NotImplementedError& error) {
      if (std::optional<CallResults> written = written_inputs(*found.match)) {
        return *std::move(written);
      }
      return with_memory(*found.match, error);
    } catch (const c10::Error& error) {
      return with_memory(*found.match, error);
    }
  }

 private:
  /// Returns true if the operator takes a sparse tensor apart: the number of its elements is
  /// unknown.
  bool takes_sparse_apart() const {
    return et_schema::operator_facts(instruction_.name).part != et_schema::SparsePart::kNone &&
           std::ranges::any_of(inputs_.all(), [](const at::Tensor& tensor) {
             return tensor.defined() && tensor.layout() != at::kStrided;
           });
  }

  /// Returns the results of another library's operator from the operator map.
  std::optional<CallResults> mapped_results() {
    const std::string text = schema_text(program_, instruction_);
    auto mapped = find_mapped(text, kNoMemory);
    auto* const substitute = std::get_if<Substitute>(&mapped);
    if (substitute == nullptr) {
      return std::nullopt;
    }
    const c10::FunctionSchema schema = torch::jit::parseSchema(et_schema::readable_schema(text));
    et_schema::Losses losses;
    const BoxContext context{kNoMemory, instruction_.name, &losses};
    const std::vector<at::Tensor> given(inputs_.all().begin(), inputs_.all().end());
    torch::jit::Stack stack;
    for (std::size_t i = 0; i < arguments_.size() && i < schema.arguments().size(); ++i) {
      stack.push_back(boxed(plan_argument(arguments_[i], schema.arguments()[i], context), inputs_));
    }
    substitute->call(stack);
    return describe_results(stack, given);
  }

  /// Marks offsets of operators such as as_strided(), which take an absolute storage offset.
  void mark_absolute(const OperatorMatch& match, CallResults& results) const {
    const auto& arguments = match.handle.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].name() == "storage_offset" && match.sources[i] &&
          std::holds_alternative<std::int64_t>(arguments_[*match.sources[i]].value)) {
        for (ResultTensor& tensor : results.tensors) {
          tensor.offset_is_absolute = tensor.storage_of >= 0;
        }
      }
    }
  }

  /// Returns the arguments that an in-place operator writes, which are its results even without a
  /// kernel.
  std::optional<CallResults> written_inputs(const OperatorMatch& match) const {
    const c10::FunctionSchema& schema = match.handle.schema();
    torch::jit::Stack results;
    for (const c10::Argument& result : schema.returns()) {
      const std::optional<at::Tensor> tensor = written_as(match, result);
      if (!tensor || !std::string_view(schema.name()).ends_with('_')) {
        return std::nullopt;
      }
      results.emplace_back(*tensor);
    }
    return describe_results(results, inputs_.all());
  }

  std::optional<at::Tensor> written_as(const OperatorMatch& match,
                                       const c10::Argument& result) const {
    const auto& arguments = match.handle.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bool same = result.alias_info() != nullptr && arguments[i].alias_info() != nullptr &&
                        *result.alias_info() == *arguments[i].alias_info();
      if (same && match.sources[i]) {
        const auto* slot = std::get_if<Argument::SlotRef>(&arguments_[*match.sources[i]].value);
        return slot != nullptr ? std::optional(inputs_[slot->id]) : std::nullopt;
      }
    }
    return std::nullopt;
  }

  /// Calls a small operator that needs memory on the CPU: once with zeros, once with ones. If the
  /// results differ, they depend on values and are unknown.
  CallResults with_memory(const OperatorMatch& match, const c10::Error& error) const {
    if (depends_on_content(instruction_.name) || depends_on_content(without_kernel(error))) {
      return unknown(kOnContent);
    }
    if (!fits_in_memory() || !match.handle.schema().name().starts_with("aten::")) {
      return unknown(reason_of(error));
    }
    std::optional<CallResults> first;
    for (const int content : {0, 1}) {
      CallResults results = called_with(match, content);
      if (first && results.why_not.empty() && !(*first == results)) {
        return unknown(kOnContent);
      }
      first = first ? std::move(first) : std::optional(std::move(results));
    }
    return *std::move(first);
  }

  bool fits_in_memory() const {
    std::int64_t bytes = 0;
    for (const at::Tensor& tensor : inputs_.all()) {
      bytes += tensor.defined() ? static_cast<std::int64_t>(tensor.storage().nbytes()) : 0;
    }
    return bytes <= most_tried_bytes_;
  }

  CallResults called_with(const OperatorMatch& match, int content) const {
    try {
      InputTensors inputs(program_, kMemory);
      const std::vector<Argument> arguments = inputs.take(instruction_.args);
      for (const at::Tensor& tensor : inputs.all()) {
        if (tensor.defined()) {
          tensor.fill_(content);
        }
      }
      torch::jit::Stack stack = stack_of(instruction_, arguments, match, inputs);
      match.handle.callBoxed(stack);
      return describe_results(stack, inputs.all());
    } catch (const c10::Error& error) {
      return unknown(reason_of(error), true);
    }
  }

  const Program& program_;
  const Instruction& instruction_;
  std::int64_t most_tried_bytes_;
  InputTensors inputs_;
  std::vector<Argument> arguments_;
};

}  // namespace

CallResults results_of(const Program& program, const Instruction& instruction,
                       std::int64_t most_tried_bytes) {
  register_meta_rows();
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::NoGradGuard no_gradients;
  try {
    return Trial(program, instruction, most_tried_bytes).run();
  } catch (const BoxFailure& failure) {
    return unknown(failure.reason, true);
  } catch (const c10::Error& error) {
    return unknown(first_line(error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return unknown(first_line(error.what()));
  }
}

}  // namespace understudy::replayer
