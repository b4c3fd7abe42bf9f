#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"

// Programs made by hand, a tensor and a call at a time.
namespace understudy::testing_programs {

inline et_schema::Argument ref(et_schema::SlotId slot) {
  return {et_schema::Argument::SlotRef{slot}};
}

inline et_schema::Argument number(std::int64_t value) {
  return {value};
}

inline et_schema::Argument numbers(const std::vector<std::int64_t>& values) {
  et_schema::Argument::List list;
  for (const std::int64_t value : values) {
    list.push_back(number(value));
  }
  return {std::move(list)};
}

inline et_schema::Argument list_of(const std::vector<et_schema::SlotId>& slots) {
  et_schema::Argument::List list;
  for (const et_schema::SlotId slot : slots) {
    list.push_back(ref(slot));
  }
  return {std::move(list)};
}

/// A tensor that lies in rows and is all of a storage of its own.
inline et_schema::SlotId add_tensor(et_schema::Program& program, std::vector<std::int64_t> sizes,
                                    bool external = false,
                                    et_schema::DType dtype = et_schema::DType::kFloat32,
                                    et_schema::Device device = {}) {
  et_schema::Slot& slot = program.slots.emplace_back();
  slot.storage = static_cast<et_schema::StorageId>(program.storages.size());
  slot.dtype = dtype;
  slot.external = external;
  slot.strides.resize(sizes.size());
  std::int64_t elements = 1;
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    slot.strides[dim] = elements;
    elements *= sizes[dim];
  }
  slot.sizes = std::move(sizes);
  program.storages.push_back(
      {.device = device, .bytes = elements * et_schema::item_size(dtype), .external = external});
  return static_cast<et_schema::SlotId>(program.slots.size() - 1);
}

/// A call of an operator, by its schema.
inline et_schema::Instruction& add_call(et_schema::Program& program, std::string_view schema,
                                        std::vector<et_schema::Argument> args,
                                        std::vector<et_schema::Argument> results = {}) {
  et_schema::Instruction& call = program.instructions.emplace_back();
  call.name = schema.substr(0, schema.find('('));
  call.schema = static_cast<et_schema::SchemaId>(program.schemas.size());
  call.args = std::move(args);
  call.results = std::move(results);
  program.schemas.emplace_back(schema);
  return call;
}

}  // namespace understudy::testing_programs
