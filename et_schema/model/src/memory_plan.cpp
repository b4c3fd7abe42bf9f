#include "et_schema/model/memory_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "et_schema/model/lifetimes.h"
#include "et_schema/model/slot_extent.h"

namespace understudy::et_schema {
namespace {

/// Returns the external storages that instructions use, each as its slot with most elements (the
/// first if several). Leaves out storages that only bodies use.
std::vector<LiveTensor> external_tensors(const Program& program, const std::vector<SlotUse>& uses) {
  std::vector<std::optional<SlotId>> widest(program.storages.size());
  for (const SlotUse& use : uses) {
    for (const SlotId slot : use.reads) {
      auto& known = widest[program.slots[slot].storage];
      if (!known || element_count(program.slots[slot]) > element_count(program.slots[*known])) {
        known = slot;
      }
    }
  }
  std::vector<LiveTensor> tensors;
  for (StorageId storage = 0; storage < program.storages.size(); ++storage) {
    const Storage& memory = program.storages[storage];
    if (memory.external && widest[storage]) {
      tensors.push_back({*widest[storage], memory_bytes(memory), true, {}});
    }
  }
  return tensors;
}

/// Returns the storages that are alive while instruction `at` runs, each with the first slot that
/// was made in it and the instruction that made this slot.
std::vector<LiveTensor> live_at(const Program& program, const std::vector<SlotUse>& uses,
                                const Lifetimes& lifetimes, std::size_t at) {
  LiveStorages live(program, lifetimes.outlive);
  for (std::size_t step = 0; step < at; ++step) {
    live.begin(uses[step]);
    live.end(uses[step], lifetimes.deaths[step]);
  }
  live.begin(uses[at]);
  std::vector<LiveTensor> tensors;
  std::vector<bool> listed(program.storages.size());
  for (std::size_t step = 0; step < uses.size(); ++step) {
    for (const auto* slots : {&uses[step].makes, &uses[step].unkept}) {
      for (const SlotId slot : *slots) {
        const StorageId storage = program.slots[slot].storage;
        if (live.is_alive(storage) && !listed[storage]) {
          listed[storage] = true;
          tensors.push_back({slot, memory_bytes(program.storages[storage]), false, step});
        }
      }
    }
  }
  return tensors;
}

}  // namespace

MemoryPlan plan_memory(const Program& program, std::size_t largest) {
  const std::vector<SlotUse> uses = uses_of(program);
  const Lifetimes lifetimes = lifetimes_of(program, uses);
  MemoryPlan plan;
  plan.largest = external_tensors(program, uses);
  for (const LiveTensor& tensor : plan.largest) {
    plan.external_bytes += tensor.bytes;
  }
  for (const Storage& storage : program.storages) {
    plan.untouched_bytes += storage.untouched ? memory_bytes(storage) : 0;
  }
  plan.external_bytes += plan.untouched_bytes;
  plan.peak_bytes = plan.external_bytes;
  plan.live_bytes = live_bytes(program, uses, lifetimes);
  for (std::uint64_t& bytes : plan.live_bytes) {
    bytes += plan.external_bytes;
  }
  const auto peak = std::max_element(plan.live_bytes.begin(), plan.live_bytes.end());
  if (peak != plan.live_bytes.end()) {
    plan.peak = static_cast<std::size_t>(peak - plan.live_bytes.begin());
    plan.peak_bytes = *peak;
    const std::vector<LiveTensor> tensors = live_at(program, uses, lifetimes, *plan.peak);
    plan.largest.insert(plan.largest.end(), tensors.begin(), tensors.end());
  }
  std::ranges::stable_sort(plan.largest, std::ranges::greater(), &LiveTensor::bytes);
  plan.largest.resize(std::min(plan.largest.size(), largest));
  return plan;
}

MemoryPlan plan_step_memory(const Program& program, std::size_t largest) {
  const auto is_on_device = [](const Storage& storage) {
    return storage.device.type == DeviceType::kCuda;
  };
  double of_device = 0;
  double of_host = 0;
  for (const Storage& storage : program.storages) {
    (is_on_device(storage) ? of_device : of_host) += static_cast<double>(storage.bytes);
  }
  if (of_device == 0 || of_host == 0) {
    return plan_memory(program, largest);  // most programs need no copy
  }
  Program own = program;
  for (Storage& storage : own.storages) {
    storage.bytes = is_on_device(storage) == (of_device > of_host) ? storage.bytes : 0;
  }
  return plan_memory(own, largest);
}

std::string layout_text(const Slot& slot) {
  return fmt::format("{}[{}]", to_string(slot.dtype), fmt::join(slot.sizes, ", "));
}

std::string maker_text(const Program& program, const MemoryPlan& plan, const LiveTensor& tensor) {
  if (!tensor.maker) {
    return "before the step";
  }
  const Instruction& maker = program.instructions[*tensor.maker];
  const bool is_left = plan.peak && *tensor.maker > *plan.peak;
  return fmt::format("{}, node {}{}", maker.name, maker.node_id,
                     is_left ? ", in the step before" : "");
}

}  // namespace understudy::et_schema
