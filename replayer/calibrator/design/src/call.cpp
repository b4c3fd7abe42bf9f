#include "replayer/calibrator/design/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <variant>

#include "et_schema/facts/schema_text.h"
#include "et_schema/model/bodies.h"
#include "et_schema/model/slot_extent.h"
#include "generator/values/value_flow.h"

namespace understudy::calibrator {
namespace {

using et_schema::Argument;
using et_schema::Slot;

std::string text_of(const CallTensor& tensor) {
  const Slot& slot = tensor.layout;
  std::string text = fmt::format("{}[{}]", to_string(slot.dtype), fmt::join(slot.sizes, ","));
  if (!slot.sparse && slot.strides != et_schema::contiguous_strides(slot.sizes)) {
    text += fmt::format(":[{}]", fmt::join(slot.strides, ","));
  }
  if (slot.sparse) {
    text += fmt::format(" sparse {}", slot.content ? slot.content->elements : 0);
  }
  if (slot.wrapped_number) {
    text += " number";
  }
  if (tensor.zeros > 0) {
    text += fmt::format(" zeros {:.3g}", tensor.zeros);
  }
  return text;
}

std::string text_of(const Argument& argument, const Call& call);

struct ArgumentText {
  const Call& call;
  std::string operator()(const Argument::None&) const { return "None"; }
  std::string operator()(const Argument::Undefined&) const { return "undefined"; }
  std::string operator()(const Argument::SlotRef& slot) const {
    return text_of(call.tensors[slot.id]);
  }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
  std::string operator()(const Argument::DeviceRef& value) const {
    return fmt::format("device {}", to_string(value.device));
  }
  std::string operator()(const Argument::Opaque& value) const { return value.tag; }
  std::string operator()(const Argument::List& items) const {
    std::string text = "[";
    for (std::size_t i = 0; i < items.size();) {
      std::size_t same = i;
      const std::string item = text_of(items[i], call);
      while (same < items.size() && text_of(items[same], call) == item) {
        ++same;  // optimizers' lists hold hundreds of equal tensors
      }
      constexpr std::size_t kFew = 3;
      const bool repeats = same - i > kFew;
      text += fmt::format("{}{}{}", text.size() > 1 ? ", " : "",
                          repeats ? fmt::format("{} × ", same - i) : "", item);
      i = repeats ? same : i + 1;
    }
    return text + "]";
  }
};

std::string text_of(const Argument& argument, const Call& call) {
  return std::visit(ArgumentText{call}, argument.value);
}

et_schema::ValueRule rule_of_zeros(double zeros) {
  return {et_schema::ValueRule::Bernoulli{1 - zeros}, "calibrate: zeros"};
}

}  // namespace

std::string to_text(const Call& call) {
  std::string text(et_schema::operator_name(call.schema));
  text += "(";
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    text += (i == 0 ? "" : ", ") + text_of(call.args[i], call);
  }
  text += ")";
  if (call.index_skew > 0) {
    text += fmt::format(" skew {:.3g}", call.index_skew);
  }
  return text;
}

std::int64_t tensor_bytes(const Call& call) {
  std::int64_t bytes = 0;
  for (const CallTensor& tensor : call.tensors) {
    bytes += et_schema::extent_bytes(tensor.layout);
  }
  return bytes;
}

et_schema::SlotId add_tensor(et_schema::Program& program, Slot slot) {
  slot.storage = static_cast<et_schema::StorageId>(program.storages.size());
  et_schema::Storage& storage = program.storages.emplace_back();
  storage.device = {et_schema::DeviceType::kCpu, -1};
  storage.external = slot.external;
  storage.bytes = et_schema::extent_bytes(slot);
  program.slots.push_back(std::move(slot));
  return static_cast<et_schema::SlotId>(program.slots.size() - 1);
}

et_schema::Instruction& add_call(et_schema::Program& program, std::string schema,
                                 std::vector<Argument> args) {
  et_schema::Instruction& instruction = program.instructions.emplace_back();
  instruction.name = et_schema::operator_name(schema);
  instruction.schema = static_cast<et_schema::SchemaId>(program.schemas.size());
  instruction.args = std::move(args);
  program.schemas.push_back(std::move(schema));
  return instruction;
}

namespace {

/// Returns the call's tensors with their rules, which depend on this call alone.
std::vector<Slot> ruled_tensors(const Call& call) {
  et_schema::Program alone;
  for (const CallTensor& tensor : call.tensors) {
    Slot slot = tensor.layout;
    slot.external = true;
    add_tensor(alone, std::move(slot));
  }
  add_call(alone, call.schema, call.args);
  generator::IndexSpread spread;
  if (call.index_skew > 0) {
    spread = {generator::IndexSpread::Kind::kZipf, call.index_skew};
  }
  generator::assign_values(alone, {}, spread);
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    if (call.tensors[i].zeros > 0) {
      alone.slots[i].value = rule_of_zeros(call.tensors[i].zeros);
    }
  }
  alone.slots.resize(call.tensors.size());
  return std::move(alone.slots);
}

}  // namespace

et_schema::Program make_program(const std::vector<Call>& calls) {
  et_schema::Program program;
  for (const Call& call : calls) {
    const std::size_t first = program.slots.size();
    for (Slot& slot : ruled_tensors(call)) {
      add_tensor(program, std::move(slot));
    }
    et_schema::renumber_slots(add_call(program, call.schema, call.args).args, [&](auto slot) {
      return static_cast<et_schema::SlotId>(first + slot);
    });
  }
  return program;
}

et_schema::Bench make_bench(const std::vector<Call>& calls) {
  et_schema::Bench bench;
  bench.groups.emplace_back().name = "world";
  bench.programs.push_back(make_program(calls));
  return bench;
}

}  // namespace understudy::calibrator
