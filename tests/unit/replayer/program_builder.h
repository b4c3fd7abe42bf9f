#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"
#include "testing/made_program.h"

namespace understudy::replayer::testing {

using et_schema::Argument;
using et_schema::DType;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;
using Sizes = std::vector<std::int64_t>;

using testing_programs::ref;

using testing_programs::number;
using testing_programs::numbers;

inline Argument real(double value) {
  return {value};
}
inline Argument flag(bool value) {
  return {value};
}
inline Argument none() {
  return {Argument::None{}};
}
inline Argument undefined() {
  return {Argument::Undefined{}};
}
inline Argument list(Argument::List items) {
  return {std::move(items)};
}
inline et_schema::ValueRule constant(double value) {
  return {et_schema::ValueRule::Constant{value}};
}

/// Programs made by hand.
class ProgramBuilder {
 public:
  SlotId external(DType dtype, const Sizes& sizes, const et_schema::ValueRule& rule) {
    const SlotId slot = add(dtype, sizes, true);
    program_.slots[slot].value = rule;
    return slot;
  }
  SlotId intermediate(DType dtype, const Sizes& sizes) { return add(dtype, sizes, false); }
  /// Another layout of a slot's storage.
  SlotId view(SlotId base, const Sizes& sizes, const Sizes& strides, std::int64_t offset) {
    et_schema::Slot slot = program_.slots[base];
    slot.sizes = sizes;
    slot.strides = strides;
    slot.offset = offset;
    slot.external = false;
    program_.slots.push_back(slot);
    return static_cast<SlotId>(program_.slots.size() - 1);
  }
  et_schema::Slot& slot(SlotId id) { return program_.slots[id]; }

  /// An operator by its schema text, not yet part of the program.
  Instruction op(const std::string& schema, std::vector<Argument> args,
                 std::vector<Argument> results) {
    Instruction instruction;
    instruction.node_id = ++last_node_;
    instruction.name = schema.substr(0, schema.find('('));
    program_.schemas.push_back(schema);
    instruction.schema = static_cast<et_schema::SchemaId>(program_.schemas.size() - 1);
    instruction.args = std::move(args);
    instruction.results = std::move(results);
    return instruction;
  }
  Instruction& add(Instruction instruction) {
    program_.instructions.push_back(std::move(instruction));
    return program_.instructions.back();
  }
  Instruction& add_op(const std::string& schema, std::vector<Argument> args,
                      std::vector<Argument> results) {
    return add(op(schema, std::move(args), std::move(results)));
  }
  Instruction& add_alias(SlotId from, SlotId to) {
    Instruction instruction;
    instruction.kind = InstructionKind::kAlias;
    instruction.name = "as_strided";
    instruction.args = {ref(from)};
    instruction.results = {ref(to)};
    return add(std::move(instruction));
  }
  Instruction& add_collective(et_schema::CommKind kind, std::vector<Argument> inputs,
                              std::vector<Argument> outputs) {
    Instruction instruction;
    instruction.kind = InstructionKind::kCollective;
    instruction.node_id = ++last_node_;
    instruction.name = std::string(to_string(kind));
    instruction.args = {list(std::move(inputs)), list(std::move(outputs))};
    instruction.comm.emplace();
    instruction.comm->kind = kind;
    return add(std::move(instruction));
  }

  Program& program() { return program_; }

 private:
  SlotId add(DType dtype, const Sizes& sizes, bool external) {
    const SlotId made = testing_programs::add_tensor(program_, sizes, external, dtype,
                                                     {et_schema::DeviceType::kCuda, 3});
    program_.slots[made].strides_recorded = true;
    return made;
  }

  Program program_;
  std::uint64_t last_node_ = 100;
};

inline constexpr const char* kAdd =
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
inline constexpr const char* kMul = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor";
inline constexpr const char* kRelu = "aten::relu(Tensor self) -> Tensor";
inline constexpr const char* kAddInPlace =
    "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)";
inline constexpr const char* kNonzero = "aten::nonzero(Tensor self) -> Tensor";

}  // namespace understudy::replayer::testing
