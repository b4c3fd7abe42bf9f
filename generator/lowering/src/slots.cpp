#include "generator/lowering/slots.h"

#include <algorithm>
#include <cstddef>

#include "et_schema/model/slot_extent.h"
#include "generator/flow/below.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

/// Compares strides, ignoring dimensions of size one.
bool same_strides(std::span<const std::int64_t> sizes, std::span<const std::int64_t> a,
                  std::span<const std::int64_t> b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i < sizes.size() && sizes[i] > 1 && a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

std::vector<std::int64_t> as_integers(const Value& list) {
  std::vector<std::int64_t> integers;
  for (const Value& item : list.items()) {
    if (item.is(ValueKind::kInt)) {
      integers.push_back(item.as_int());
    }
  }
  return integers;
}

/// Returns true if the strides are recorded, or were written by the file's writer.
bool knows_strides(const Tensor& tensor) {
  return tensor.has_strides ||
         (!tensor.strides.empty() && tensor.strides.size() == tensor.sizes.size());
}

std::vector<std::int64_t> external_strides(const Tensor& tensor) {
  return knows_strides(tensor)
             ? std::vector<std::int64_t>(tensor.strides.begin(), tensor.strides.end())
             : et_schema::contiguous_strides(tensor.sizes);
}

}  // namespace

SlotTable::SlotTable(const et_schema::Trace& trace, et_schema::Program& program)
    : trace_(trace), program_(program) {}

bool SlotTable::is_visible(const Entry& entry) const {
  return std::ranges::find(scopes_, entry.scope) != scopes_.end();
}

bool SlotTable::has_layout(const Entry& entry, const Tensor& tensor,
                           std::span<const std::int64_t> strides) const {
  const Slot& slot = program_.slots[entry.slot];
  return slot.offset == tensor.storage_offset && slot.dtype == tensor.dtype &&
         std::ranges::equal(slot.sizes, tensor.sizes) &&
         (strides.empty() || same_strides(slot.sizes, slot.strides, strides));
}

std::optional<SlotId> SlotTable::find(LifetimeId lifetime, const Tensor& tensor) const {
  const auto storage = storages_.find(lifetime);
  if (storage == storages_.end()) {
    return std::nullopt;
  }
  const Entry* best = nullptr;
  for (const Entry& entry : storage->second.entries) {
    if (!is_visible(entry) || !has_layout(entry, tensor, tensor.strides)) {
      continue;
    }
    // The tensor id breaks ties between layouts that a trace without strides cannot distinguish.
    if (best == nullptr || best->tensor_id != tensor.tensor_id ||
        entry.tensor_id == tensor.tensor_id) {
      best = &entry;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(best->slot);
}

std::optional<SlotId> SlotTable::any(LifetimeId lifetime) const {
  const auto storage = storages_.find(lifetime);
  if (storage == storages_.end()) {
    return std::nullopt;
  }
  for (auto entry = storage->second.entries.rbegin(); entry != storage->second.entries.rend();
       ++entry) {
    if (is_visible(*entry) && !program_.slots[entry->slot].sparse) {
      return entry->slot;
    }
  }
  return std::nullopt;
}

SlotId SlotTable::define(LifetimeId lifetime, const Tensor& tensor, NodeIndex producer) {
  return define(lifetime, tensor, result_strides(lifetime, tensor, producer),
                storage_of(lifetime).external);
}

SlotId SlotTable::define_external(LifetimeId lifetime, const Tensor& tensor) {
  mark_external(lifetime);
  const SlotId slot = define(lifetime, tensor, external_strides(tensor), true);
  program_.slots[slot].external = true;
  return slot;
}

SlotId SlotTable::define_detached(const Tensor& tensor) {
  const auto storage = static_cast<et_schema::StorageId>(program_.storages.size());
  program_.storages.push_back({tensor.device, 0, true});
  return new_slot(storage, tensor, external_strides(tensor), true);
}

SlotId SlotTable::define_wrapped_number(const Tensor& tensor) {
  const SlotId slot = define_detached(tensor);
  program_.slots[slot].wrapped_number = true;
  return slot;
}

SlotId SlotTable::define(LifetimeId lifetime, const Tensor& tensor,
                         const std::vector<std::int64_t>& strides, bool external) {
  Storage& storage = storage_of(lifetime);
  for (Entry& entry : storage.entries) {
    if (has_layout(entry, tensor, strides)) {
      entry.tensor_id = tensor.tensor_id;
      entry.scope = is_visible(entry) ? std::min(entry.scope, scopes_.back()) : scopes_.back();
      return entry.slot;
    }
  }
  if (!storage.id) {
    storage.id = static_cast<et_schema::StorageId>(program_.storages.size());
    program_.storages.push_back({tensor.device, 0, external});
  }
  const SlotId slot = new_slot(*storage.id, tensor, strides, false);
  storage.entries.push_back({slot, tensor.tensor_id, scopes_.back()});
  return slot;
}

SlotId SlotTable::new_slot(et_schema::StorageId storage, const Tensor& tensor,
                           std::vector<std::int64_t> strides, bool external) {
  Slot slot;
  slot.storage = storage;
  slot.dtype = tensor.dtype;
  slot.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
  slot.strides = std::move(strides);
  slot.strides_recorded = tensor.has_strides;
  slot.offset = tensor.storage_offset;
  slot.external = external;
  slot.sparse = !tensor.has_storage() && et_schema::element_count(tensor.sizes) > 0;
  if (!slot.sparse) {
    et_schema::Storage& memory = program_.storages[storage];
    memory.bytes = std::max(memory.bytes, et_schema::extent_bytes(slot));
  }
  program_.slots.push_back(std::move(slot));
  return static_cast<SlotId>(program_.slots.size() - 1);
}

std::optional<SlotId> SlotTable::in_place_slot(LifetimeId lifetime, const Tensor& tensor,
                                               NodeIndex producer) const {
  bool in_place = false;
  et_schema::for_each_tensor(trace_.nodes[producer].inputs, [&](const Tensor& input) {
    in_place =
        in_place || (input.tensor_id == tensor.tensor_id && input.storage_id == tensor.storage_id &&
                     input.storage_offset == tensor.storage_offset && input.dtype == tensor.dtype &&
                     std::ranges::equal(input.sizes, tensor.sizes));
  });
  return in_place ? find(lifetime, tensor) : std::nullopt;
}

std::vector<std::int64_t> SlotTable::result_strides(LifetimeId lifetime, const Tensor& tensor,
                                                    NodeIndex producer) const {
  if (knows_strides(tensor)) {
    return {tensor.strides.begin(), tensor.strides.end()};
  }
  std::vector<std::int64_t> strides = et_schema::contiguous_strides(tensor.sizes);
  if (producer == et_schema::kNoNode) {
    return strides;
  }
  if (const std::optional<SlotId> same = in_place_slot(lifetime, tensor, producer)) {
    return program_.slots[*same].strides;
  }
  const auto take_from = [&](const et_schema::Node& node) {
    if (!node.name.ends_with("as_strided") || node.inputs.size() < 3 ||
        !node.inputs[2].is(ValueKind::kList)) {
      return;
    }
    et_schema::for_each_tensor(node.outputs, [&](const Tensor& output) {
      if (output.tensor_id == tensor.tensor_id && output.storage_id == tensor.storage_id &&
          std::ranges::equal(output.sizes, tensor.sizes)) {
        std::vector<std::int64_t> recorded = as_integers(node.inputs[2]);
        strides = recorded.size() == tensor.sizes.size() ? std::move(recorded) : strides;
      }
    });
  };
  take_from(trace_.nodes[producer]);
  walk_below(trace_, producer, [&](NodeIndex below) {
    take_from(trace_.nodes[below]);
    return Walk::kInto;
  });
  return strides;
}

}  // namespace understudy::generator
