#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "et_schema/formats/bench/program_text.h"
#include "generator/flow/model_names.h"
#include "generator/lowering/lowering.h"
#include "generator/profile/trace_of_profile.h"

namespace understudy::generator {
class CallBook::Impl {
 public:
  std::size_t add(const AskedCall& call) {
    key_ = call.schema;
    std::vector<Argument> arguments = read(call.inputs);
    const auto [known, is_new] = by_key_.emplace(std::move(key_), by_key_.size());
    if (is_new) {
      Instruction& instruction = program_.instructions.emplace_back();
      instruction.name = call.schema.substr(0, call.schema.find('('));
      instruction.schema = schema(std::string(call.schema));
      instruction.args = std::move(arguments);
    }
    return known->second;
  }
  et_schema::Program& program() { return program_; }

 private:
  std::vector<Argument> read(std::span<const Value> values) {
    std::vector<Argument> arguments;
    key_ += '(';
    for (const Value& value : values) {
      key_ += ',';
      arguments.push_back(read(value));
    }
    key_ += ')';
    return arguments;
  }

  Argument read(const Value& value) {
    key_ += static_cast<char>('a' + static_cast<int>(value.kind()));
    switch (value.kind()) {
      case ValueKind::kList:
      case ValueKind::kTuple:
        return {read(value.items())};
      case ValueKind::kTensor: {
        if (!value.tensor().defined()) {
          return {Argument::Undefined{}};
        }
        const SlotId id = slot(value.tensor());
        key_ += std::to_string(id);
        return {Argument::SlotRef{id}};
      }
      case ValueKind::kBool:
        key_ += value.as_bool() ? '1' : '0';
        break;
      case ValueKind::kInt:
        key_ += std::to_string(value.as_int());
        break;
      case ValueKind::kDouble:
        key_ += fmt::format("{}", value.as_double());
        break;
      case ValueKind::kString:
      case ValueKind::kDevice:
      case ValueKind::kOpaque:
        key_ += fmt::format("{}:{}", value.text().size(), value.text());
        break;
      case ValueKind::kNone:
        break;
    }
    return plain_argument(value);
  }

  SlotId slot(const et_schema::Tensor& tensor) {
    std::string layout = fmt::format("{} {} {} {} {}", to_string(tensor.dtype),
                                     to_string(tensor.device), fmt::join(tensor.sizes, ","),
                                     fmt::join(tensor.strides, ","), tensor.has_strides);
    const auto [known, is_new] =
        slots_.emplace(std::move(layout), static_cast<SlotId>(program_.slots.size()));
    if (is_new) {
      et_schema::Slot& added = program_.slots.emplace_back();
      added.storage = known->second;
      added.dtype = tensor.dtype;
      added.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
      added.strides.assign(tensor.strides.begin(), tensor.strides.end());
      added.sparse = tensor.has_strides && tensor.strides.size() != tensor.sizes.size();
      if (!tensor.has_strides && tensor.strides.empty()) {  // assumed to be row-major
        std::ignore = et_schema::contiguous_strides(added.sizes, added.strides);
      }
      program_.storages.push_back({.device = tensor.device});
    }
    return known->second;
  }

  et_schema::SchemaId schema(std::string text) {
    std::vector<std::string>& schemas = program_.schemas;
    const auto [known, is_new] =
        schemas_.emplace(text, static_cast<et_schema::SchemaId>(schemas.size()));
    if (is_new) {
      schemas.push_back(std::move(text));
    }
    return known->second;
  }

  et_schema::Program program_;
  std::string key_;  ///< of the current call; equal for equal calls
  std::unordered_map<std::string, std::size_t> by_key_;
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

const et_schema::Program& CallBook::new_calls() const {
  return impl_->program();
}

}  // namespace understudy::generator
