#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include "et_schema/base/overloaded.h"
#include "et_schema/formats/bench/program_text.h"
#include "et_schema/model/bodies.h"
#include "generator/flow/model_names.h"
#include "generator/lowering/lowering.h"
#include "generator/profile/trace_of_profile.h"

namespace understudy::generator {
namespace {

/// Appends a text that is equal for equal arguments.
void append_key(const std::vector<Argument>& arguments, std::string& key) {
  const auto append = [&key](const auto& value) { key += fmt::format("{},", value); };
  for (const Argument& argument : arguments) {
    key += static_cast<char>('a' + argument.value.index());
    std::visit(
        et_schema::Overloaded{
            [](Argument::None) {}, [](Argument::Undefined) {},
            [&](Argument::SlotRef slot) { append(slot.id); },
            [&](const std::string& text) { append(fmt::format("{}:{}", text.size(), text)); },
            [&](Argument::DeviceRef device) { append(to_string(device.device)); },
            [&](const Argument::Opaque& opaque) { append(opaque.tag); },
            [&](const Argument::List& list) {
              append_key(list, key);
              key += ')';
            },
            [&](const auto& number) { append(number); }},
        argument.value);
  }
}

}  // namespace

class CallBook::Impl {
 public:
  std::size_t add(const AskedCall& call) {
    return add(std::string(call.schema), read(call.inputs));
  }

  std::size_t add(const et_schema::Program& program, const Instruction& instruction) {
    std::vector<Argument> arguments = instruction.args;
    et_schema::renumber_slots(arguments, [&](SlotId id) {
      const et_schema::Slot& slot = program.slots[id];
      return slot_like(slot, program.storages[slot.storage].device);
    });
    return add(program.schemas[*instruction.schema], std::move(arguments));
  }
  et_schema::Program& program() { return program_; }

 private:
  std::size_t add(std::string schema, std::vector<Argument> arguments) {
    std::string key = schema;
    append_key(arguments, key);
    const auto [known, is_new] = by_key_.emplace(std::move(key), by_key_.size());
    if (is_new) {
      Instruction& instruction = program_.instructions.emplace_back();
      instruction.name = schema.substr(0, schema.find('('));
      instruction.args = std::move(arguments);
      const auto [place, is_new_schema] =
          schemas_.emplace(schema, static_cast<et_schema::SchemaId>(program_.schemas.size()));
      instruction.schema = place->second;
      if (is_new_schema) {
        program_.schemas.push_back(std::move(schema));
      }
    }
    return known->second;
  }

  std::vector<Argument> read(std::span<const Value> values) {
    std::vector<Argument> arguments;
    for (const Value& value : values) {
      arguments.push_back(read(value));
    }
    return arguments;
  }

  Argument read(const Value& value) {
    switch (value.kind()) {
      case ValueKind::kList:
      case ValueKind::kTuple:
        return {read(value.items())};
      case ValueKind::kTensor:
        return value.tensor().defined() ? Argument{Argument::SlotRef{slot(value.tensor())}}
                                        : Argument{Argument::Undefined{}};
      default:
        return plain_argument(value);
    }
  }

  SlotId slot(const et_schema::Tensor& tensor) {
    et_schema::Slot slot;
    slot.dtype = tensor.dtype;
    slot.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
    slot.strides.assign(tensor.strides.begin(), tensor.strides.end());
    slot.sparse = tensor.has_strides && tensor.strides.size() != tensor.sizes.size();
    if (!tensor.has_strides && tensor.strides.empty()) {  // assumed to be row-major
      std::ignore = et_schema::contiguous_strides(slot.sizes, slot.strides);
    }
    return slot_like(slot, tensor.device);
  }

  SlotId slot_like(const et_schema::Slot& slot, et_schema::Device device) {
    const auto [known, is_new] = slots_.emplace(
        fmt::format("{} {} {} {} {}", to_string(slot.dtype), to_string(device),
                    fmt::join(slot.sizes, ","), fmt::join(slot.strides, ","), slot.sparse),
        static_cast<SlotId>(program_.slots.size()));
    if (is_new) {
      et_schema::Slot& added = program_.slots.emplace_back();
      added.storage = known->second;
      added.dtype = slot.dtype;
      added.sizes = slot.sizes;
      added.strides = slot.strides;
      added.sparse = slot.sparse;
      program_.storages.push_back({.device = device});
    }
    return known->second;
  }

  et_schema::Program program_;
  std::unordered_map<std::string, std::size_t> by_key_;  ///< equal for equal calls
  std::unordered_map<std::string, SlotId> slots_;
  std::unordered_map<std::string, et_schema::SchemaId> schemas_;
};

CallBook::CallBook() : impl_(std::make_unique<Impl>()) {}
CallBook::~CallBook() = default;

std::vector<std::size_t> CallBook::add(std::span<const AskedCall> calls) {
  impl_->program().instructions.clear();
  std::vector<std::size_t> numbers;
  for (const AskedCall& call : calls) {
    numbers.push_back(impl_->add(call));
  }
  return numbers;
}

std::size_t CallBook::add(const et_schema::Program& program, const Instruction& call) {
  return impl_->add(program, call);
}

const et_schema::Program& CallBook::new_calls() const {
  return impl_->program();
}

}  // namespace understudy::generator
