#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"
#include "hand_made.h"

namespace understudy::predictor::testing {

using Sizes = std::vector<std::int64_t>;

/// Programs by hand, whose tensors have shapes.
struct Made {
  et_schema::Program program;

  et_schema::SlotId slot(const Sizes& sizes, bool external = false, Sizes strides = {}) {
    std::int64_t elements = 1;
    Sizes contiguous(sizes.size());
    for (std::size_t d = sizes.size(); d-- > 0;) {
      contiguous[d] = elements;
      elements *= sizes[d];
    }
    program.storages.push_back({.device = et_schema::parse_device("cpu"), .bytes = 4 * elements});
    et_schema::Slot& slot = program.slots.emplace_back();
    slot.storage = static_cast<et_schema::StorageId>(program.storages.size() - 1);
    slot.dtype = et_schema::DType::kFloat32;
    slot.sizes = sizes;
    slot.strides = strides.empty() ? contiguous : std::move(strides);
    slot.external = external;
    return static_cast<et_schema::SlotId>(program.slots.size() - 1);
  }
  et_schema::SlotId data(const Sizes& sizes) { return slot(sizes, true); }

  et_schema::SlotId op(const std::string& name, std::vector<et_schema::Argument> args,
                       const Sizes& result) {
    const et_schema::SlotId out = slot(result);
    add(name, std::move(args), {ref(out)});
    return out;
  }
  void add(const std::string& name, std::vector<et_schema::Argument> args,
           std::vector<et_schema::Argument> results) {
    et_schema::Instruction& instruction = program.instructions.emplace_back();
    instruction.name = name;
    instruction.node_id = program.instructions.size();
    instruction.args = std::move(args);
    instruction.results = std::move(results);
  }
  /// Of the instruction that was added last.
  void say_schema(const std::string& schema) {
    program.instructions.back().schema = static_cast<et_schema::SchemaId>(program.schemas.size());
    program.schemas.push_back(schema);
  }
};

inline et_schema::Argument number(std::int64_t value) {
  return {value};
}
inline et_schema::Argument numbers(const Sizes& values) {
  et_schema::Argument::List list;
  for (const std::int64_t value : values) {
    list.push_back(number(value));
  }
  return {list};
}
inline et_schema::Argument list_of(const std::vector<et_schema::SlotId>& slots) {
  et_schema::Argument::List list;
  for (const et_schema::SlotId slot : slots) {
    list.push_back(ref(slot));
  }
  return {list};
}

}  // namespace understudy::predictor::testing
