#include "et_schema/model/operator_call.h"

#include "et_schema/facts/schema_text.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/sparse_content.h"

namespace understudy::et_schema {
namespace {

void add_tensors(const Program& program, const std::vector<Argument>& arguments,
                 std::vector<TensorLayout>& tensors) {
  for (const Argument& argument : arguments) {
    if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
      add_tensors(program, *list, tensors);
    } else if (const auto* reference = std::get_if<Argument::SlotRef>(&argument.value)) {
      const Slot& slot = program.slots[reference->id];
      TensorLayout& tensor = tensors.emplace_back(TensorLayout{
          slot.dtype, slot.sizes, slot.strides, {}, program.storages[slot.storage].device});
      if (const auto content = sparse_content(program, reference->id)) {
        tensor.stored = stored_values(slot, *content);
      }
      drop_contiguous_strides(tensor);
    }
  }
}

/// Returns true if an attention is not causal. In all of PyTorch's attentions `is_causal` is the
/// first truth value after the dropout's probability.
bool is_full_attention(const Instruction& instruction) {
  bool has_dropout = false;
  for (const Argument& argument : instruction.args) {
    has_dropout = has_dropout || std::holds_alternative<double>(argument.value);
    if (const bool* const is_causal = std::get_if<bool>(&argument.value);
        has_dropout && is_causal != nullptr) {
      return !*is_causal;
    }
  }
  return false;
}

}  // namespace

std::string full_name(const OperatorCall& call) {
  return call.overload.empty() ? call.name : call.name + "." + call.overload;
}

OperatorCall call_named(std::string_view full_name) {
  OperatorCall call;
  call.name = without_overload(full_name);
  call.overload = overload_of(full_name);
  return call;
}

OperatorCall operator_call(const Program& program, const Instruction& instruction) {
  OperatorCall call = call_named(instruction.name);
  call.outputs = layouts_of(program, instruction.results);
  const int out =
      instruction.schema ? argument_index(program.schemas[*instruction.schema], "out") : -1;
  if (out < 0 || static_cast<std::size_t>(out) >= instruction.args.size()) {
    call.inputs = layouts_of(program, instruction.args);
  } else {
    // Nobody reads what `out` held. An operator that returns nothing has no other result.
    std::vector<Argument> read = instruction.args;
    if (instruction.results.empty()) {
      call.outputs = layouts_of(program, {read[static_cast<std::size_t>(out)]});
    }
    read.erase(read.begin() + out);
    call.inputs = layouts_of(program, read);
  }
  call.is_full = op_class(instruction.name) == "attention" && is_full_attention(instruction);
  return call;
}

std::vector<TensorLayout> layouts_of(const Program& program,
                                     const std::vector<Argument>& arguments) {
  std::vector<TensorLayout> tensors;
  add_tensors(program, arguments, tensors);
  return tensors;
}

}  // namespace understudy::et_schema
