#include "replayer/bind/externals.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/sparse_coo_tensor.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "et_schema/base/error.h"
#include "et_schema/model/slot_extent.h"
#include "replayer/device/device.h"
#include "replayer/dispatch/layout.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/memory_limit.h"
#include "replayer/values/values.h"

namespace understudy::replayer {

using et_schema::Slot;
using et_schema::SlotId;
using et_schema::StorageId;
using et_schema::ValueRule;

namespace {

constexpr std::uint64_t kRememberedBytes = std::uint64_t{1} << 30U;

bool is_index(const Slot& slot) {
  return slot.value && et_schema::range_of(*slot.value);
}

/// Returns true if at most one dimension has more than one element.
bool is_flat(const Slot& layout) {
  return std::ranges::count_if(layout.sizes, [](std::int64_t size) { return size > 1; }) < 2;
}

/// Returns all bytes of a storage as a tensor.
at::Tensor whole(const c10::Storage& memory) {
  at::Tensor bytes = at::empty({0}, at::TensorOptions().device(memory.device()).dtype(at::kByte));
  bytes.set_(memory, 0, {static_cast<int64_t>(memory.nbytes())}, {1});
  return bytes;
}

}  // namespace

Externals::Externals(const et_schema::Program& program, c10::Device device, std::uint64_t seed)
    : program_(program),
      device_(device),
      seed_(seed),
      memory_(program.storages.size()),
      known_(program.slots.size()) {
  for (const et_schema::Storage& storage : program.storages) {
    if (storage.untouched) {
      const auto options =
          c10::TensorOptions().device(map_device(storage.device, device)).dtype(at::kByte);
      untouched_.push_back(at::empty({storage.bytes}, options));
    }
  }
}

void Externals::ensure(const BoundProgram& bound) {
  refuse_what_does_not_fit(bound.externals);
  std::vector<SlotId> early;
  std::set_difference(bound.externals.begin(), bound.externals.end(), bound.states.begin(),
                      bound.states.end(), std::back_inserter(early));
  add(early);
  for (const SlotId slot : bound.given) {
    if (known_[slot]) {
      continue;
    }
    known_[slot] = true;
    given_.push_back({slot, make_given(slot)});
    fill(given_.back());
  }
}

void Externals::ensure_states(const BoundProgram& bound) {
  add(bound.states);
}

void Externals::add(const std::vector<SlotId>& slots) {
  std::vector<Tensor> added;
  for (const SlotId slot : slots) {
    if (known_[slot]) {
      continue;
    }
    known_[slot] = true;
    allocate(program_.slots[slot].storage);
    added.push_back({slot, view(slot)});
  }
  add_parts(added);
  fill_in_order(added);
  externals_.insert(externals_.end(), added.begin(), added.end());
}

/// Adds parts of a storage that have their own rule but are no tensor of an instruction.
void Externals::add_parts(std::vector<Tensor>& added) {
  for (SlotId slot = 0; slot < program_.slots.size(); ++slot) {
    const Slot& layout = program_.slots[slot];
    if (!known_[slot] && layout.external && layout.value && !layout.sparse &&
        memory_[layout.storage]) {
      known_[slot] = true;
      added.push_back({slot, view(slot)});
    }
  }
}

void Externals::place(std::vector<at::Tensor>& slots, std::vector<at::Tensor>& given) const {
  slots.resize(program_.slots.size());
  given.resize(program_.slots.size());
  for (const Tensor& external : externals_) {
    slots[external.slot] =
        program_.slots[external.slot].sparse ? external.tensor : view(external.slot);
  }
  for (const Tensor& tensor : given_) {
    given[tensor.slot] = tensor.tensor;
  }
}

void Externals::restore() {
  std::vector<Tensor> made_anew;
  for (const Tensor& external : externals_) {
    const StorageId storage = program_.slots[external.slot].storage;
    if (changes_.empty() || (changes_[storage] && !copies_[storage])) {
      made_anew.push_back(external);
    }
  }
  fill_in_order(made_anew);
  for (StorageId storage = 0; storage < copies_.size(); ++storage) {
    if (copies_[storage]) {
      put_back(storage, *copies_[storage]);
    }
  }
  for (const Tensor& tensor : given_) {
    fill(tensor);
  }
  for (const auto& [table, seeder] : seeders_) {
    seeder->restore();
  }
}

void Externals::remember(const BoundProgram& bound) {
  changes_.assign(memory_.size(), false);
  copies_.assign(memory_.size(), std::nullopt);
  std::uint64_t left = kRememberedBytes;
  const auto keep = [&](SlotId slot) {
    const StorageId storage = program_.slots[slot].storage;
    if (changes_[storage] || !memory_[storage]) {
      return;
    }
    changes_[storage] = true;
    const std::size_t bytes = memory_bytes(*memory_[storage]);
    if (!memory_[storage]->mapped && bytes > 0 && bytes <= left) {
      left -= bytes;
      copies_[storage] = copy_of(storage);
    }
  };
  std::for_each(bound.written.begin(), bound.written.end(), keep);
  for (const Step& step : bound.steps) {
    // The schema does not say what a substitute or a communication writes.
    if (step.kind == StepKind::kSubstitute || step.kind == StepKind::kStart) {
      for_each_slot(step.source->args, keep);
    }
  }
}

c10::Storage Externals::copy_of(StorageId storage) const {
  const c10::Storage& memory = memory_[storage]->storage;
  // The copy is on the device if there is room, so that restoring does not cross the bus.
  c10::Storage copy = device_block(memory.device(), memory.nbytes());
  if (!copy) {
    copy = map_storage(memory.nbytes());
  }
  whole(copy).copy_(bytes_of(storage));
  return copy;
}

/// Allocates memory for a variant; page-locked if the memory that it replaces is.
c10::Storage Externals::variant_of(StorageId storage) const {
  const et_schema::Storage& recorded = program_.storages[storage];
  if (!is_page_locked(recorded, device_)) {
    return copy_of(storage);
  }
  c10::Storage copy =
      at::empty({recorded.bytes}, at::TensorOptions().dtype(at::kByte).pinned_memory(true))
          .storage();
  whole(copy).copy_(bytes_of(storage));
  return copy;
}

void Externals::put_back(StorageId storage, const c10::Storage& copy) {
  at::Tensor bytes = bytes_of(storage);
  bytes.copy_(whole(copy));
}

void Externals::draw_variants() {
  std::map<StorageId, std::vector<const Tensor*>> indices;
  std::vector<bool> others(memory_.size());
  for (const Tensor& tensor : externals_) {
    const StorageId storage = program_.slots[tensor.slot].storage;
    if (is_index(program_.slots[tensor.slot]) && memory_[storage] && !changes_[storage]) {
      indices[storage].push_back(&tensor);
    } else {
      others[storage] = true;
    }
  }
  variants_.clear();
  for (const auto& [storage, tensors] : indices) {
    // Rows of a mapped table are seeded for the first values only, so its indices must not vary.
    if (others[storage] || has_mapped_ || memory_bytes(*memory_[storage]) == 0) {
      continue;
    }
    Variants variants{storage, std::vector<c10::Storage>(kVariants), 0};
    for (std::uint64_t i = kVariants; i-- > 0;) {
      for (const Tensor* tensor : tensors) {
        fill_tensor(tensor->tensor, rule_of(tensor->slot), {seed_ + i, tensor->slot});
      }
      if (i != variants.present || !memory_[storage]->storage.device().is_cpu()) {
        variants.contents[i] = variant_of(storage);
      }
    }
    variants_.push_back(std::move(variants));
  }
}

void Externals::vary(std::size_t number) {
  for (Variants& variants : variants_) {
    const std::size_t next = number % variants.contents.size();
    if (next == variants.present) {
      continue;
    }
    const c10::Storage& memory = memory_[variants.storage]->storage;
    const c10::Storage& waiting = variants.contents[next];
    if (memory.device().is_cpu()) {
      // Exchanges the memory, as a new batch does; a copy would leave it in the cache.
      waiting.set_data_ptr(memory.set_data_ptr(waiting.set_data_ptr({})));
      std::swap(variants.contents[variants.present], variants.contents[next]);
    } else {
      put_back(variants.storage, waiting);
    }
    variants.present = next;
  }
}

at::Tensor Externals::bytes_of(StorageId storage) const {
  return whole(memory_[storage]->storage);
}

void Externals::seed(const std::vector<TableReach>& reach) {
  for (const TableReach& reached : reach) {
    const auto external =
        std::find_if(externals_.begin(), externals_.end(), [&](const Tensor& candidate) {
          return is_mapped(candidate.slot) && candidate.tensor.has_storage() &&
                 reached.table.has_storage() &&
                 candidate.tensor.storage().data() == reached.table.storage().data();
        });
    if (external == externals_.end() || reached.row_elements <= 0 ||
        !reached.table.is_contiguous()) {
      continue;
    }
    auto& seeder = seeders_[{reached.table.const_data_ptr(), reached.row_elements}];
    if (!seeder) {
      seeder =
          std::make_unique<TableSeeder>(reached.table, reached.row_elements,
                                        rule_of(external->slot), ValueKey{seed_, external->slot});
    }
    seeder->seed_rows(reached.rows);
  }
}

std::size_t Externals::memory_bytes(const Memory& memory) {
  return memory.storage.device().is_meta() ? 0 : memory.storage.nbytes();
}

std::uint64_t Externals::touched_bytes() const {
  std::uint64_t bytes = touched_mapped_bytes();
  for (const at::Tensor& held : untouched_) {
    bytes += held.is_meta() ? 0 : held.nbytes();
  }
  for (const auto& memory : memory_) {
    if (memory && !memory->mapped) {
      bytes += memory_bytes(*memory);
    }
  }
  return bytes;
}

std::uint64_t Externals::touched_mapped_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& memory : memory_) {
    if (memory && memory->mapped) {
      bytes += replayer::touched_bytes(memory->storage);
    }
  }
  return bytes;
}

void Externals::allocate(StorageId storage) {
  if (memory_[storage]) {
    return;
  }
  const et_schema::Storage& recorded = program_.storages[storage];
  const c10::Device device = map_device(recorded.device, device_);
  const auto bytes = static_cast<std::size_t>(recorded.bytes);
  if (maps_on_demand(recorded, device_)) {
    memory_[storage] = Memory{map_storage(bytes), true};
    has_mapped_ = true;
    return;
  }
  const auto options = c10::TensorOptions().device(device).dtype(at::kByte).pinned_memory(
      is_page_locked(recorded, device_));
  try {
    memory_[storage] = Memory{at::empty({recorded.bytes}, options).storage(), false};
  } catch (const c10::OutOfMemoryError& error) {
    const std::string text = error.what_without_backtrace();
    throw et_schema::run_failed(
        "out of memory: the tensors that exist before the step do not fit into memory",
        {.field = "memory of " + device_text(device),
         .expected = fmt::format("{} bytes for one of them", recorded.bytes),
         .got = text.substr(0, text.find('\n')),
         .hint = "Replay on a GPU with more memory, or end what else takes memory on this one "
                 "(nvidia-smi lists it)."});
  }
}

void Externals::refuse_what_does_not_fit(const std::vector<SlotId>& slots) const {
  std::vector<bool> counted(memory_.size());
  std::uint64_t needed = 0;
  for (const SlotId slot : slots) {
    const StorageId storage = program_.slots[slot].storage;
    const et_schema::Storage& recorded = program_.storages[storage];
    const bool on_cpu = map_device(recorded.device, device_).is_cpu();
    if (!counted[storage] && !memory_[storage] && on_cpu && !maps_on_demand(recorded, device_)) {
      counted[storage] = true;
      needed += static_cast<std::uint64_t>(recorded.bytes);
    }
  }
  const std::optional<std::uint64_t> available = available_memory();
  if (available && needed > *available) {
    throw et_schema::run_failed(
        "out of memory: the tensors that exist before the step do not fit into memory",
        {.expected = fmt::format("{} bytes of free memory", needed),
         .got = fmt::format("{} bytes", *available),
         .hint = "Replay on a machine with more memory, or fewer ranks on this one (mpirun with "
                 "several hosts, or --rank K for one rank alone)."});
  }
}

at::Tensor Externals::view(SlotId slot) const {
  const Slot& layout = program_.slots[slot];
  const c10::Storage& storage = memory_[layout.storage]->storage;
  const auto options =
      c10::TensorOptions().device(storage.device()).dtype(to_scalar_type(layout.dtype));
  if (layout.sparse) {
    return make_sparse(layout, options, {seed_, slot});
  }
  if (!fits(layout, layout.offset, storage.nbytes())) {
    throw et_schema::bad_input("a tensor lies outside of its storage",
                               {.field = fmt::format("slot {}", slot),
                                .expected = fmt::format("within {} bytes", storage.nbytes()),
                                .got = fmt::format("{} bytes", et_schema::extent_bytes(layout))});
  }
  at::Tensor tensor = view_storage(storage, layout, layout.offset);
  if (layout.wrapped_number) {
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return tensor;
}

at::Tensor Externals::make_given(SlotId slot) const {
  const Slot& layout = program_.slots[slot];
  const c10::Device device = map_device(program_.storages[layout.storage].device, device_);
  if (layout.dtype == et_schema::DType::kUndefined) {
    return {};
  }
  return make_tensor(layout, device);
}

ValueRule Externals::rule_of(SlotId slot) const {
  const Slot& layout = program_.slots[slot];
  return layout.value ? *layout.value : default_rule(to_scalar_type(layout.dtype), layout.sizes);
}

void Externals::fill(const Tensor& tensor) const {
  if (program_.slots[tensor.slot].sparse || is_mapped(tensor.slot) || tensor.tensor.numel() == 0) {
    return;
  }
  fill_tensor(tensor.tensor, rule_of(tensor.slot), {seed_, tensor.slot});
}

void Externals::fill_in_order(const std::vector<Tensor>& tensors) const {
  // If layouts of a storage overlap, the last fill decides. The order is: flat layouts, which have
  // no fan-in (from FSDP's all-gather); other layouts without a rule, from the last used to the
  // first used; layouts with a rule. So a weight has its own fan-in, not that of its transposed
  // view in the backward pass.
  const auto fill_default = [&](const Tensor& tensor, bool flat) {
    const Slot& layout = program_.slots[tensor.slot];
    if (!layout.value && is_flat(layout) == flat) {
      fill(tensor);
    }
  };
  for (const bool flat : {true, false}) {
    for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
      fill_default(*tensor, flat);
    }
  }
  for (const Tensor& tensor : tensors) {
    if (program_.slots[tensor.slot].value) {
      fill(tensor);
    }
  }
}

bool Externals::is_mapped(SlotId slot) const {
  const auto& memory = memory_[program_.slots[slot].storage];
  return memory && memory->mapped;
}

bool Externals::has_zeros(const Tensor& tensor) const {
  const StorageId storage = program_.slots[tensor.slot].storage;
  const bool is_whole = tensor.tensor.defined() && tensor.tensor.is_floating_point() &&
                        tensor.tensor.is_contiguous() && copies_[storage] &&
                        tensor.tensor.nbytes() == copies_[storage]->nbytes();
  return program_.storages[storage].zeros > 0 && is_whole;
}

bool Externals::begin_zeros() {
  with_zeros_.clear();
  std::vector<bool> is_known(memory_.size());
  for (const Tensor& tensor : externals_) {
    const StorageId storage = program_.slots[tensor.slot].storage;
    if (!is_known[storage] && has_zeros(tensor)) {
      is_known[storage] = true;
      with_zeros_.push_back({storage, Zeros(tensor.tensor, program_.storages[storage].zeros)});
      with_zeros_.back().zeros.clear();
    }
  }
  return !with_zeros_.empty();
}

void Externals::settle_zeros() {
  for (WithZeros& each : with_zeros_) {
    each.zeros.find();
  }
  restore();
  for (WithZeros& each : with_zeros_) {
    each.zeros.apply();
    copies_[each.storage] = copy_of(each.storage);
  }
}

}  // namespace understudy::replayer
