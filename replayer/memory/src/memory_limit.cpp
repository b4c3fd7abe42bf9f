#include "replayer/memory/memory_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/model/memory_plan.h"
#include "replayer/device/device.h"
#include "replayer/dispatch/layout.h"
#include "replayer/memory/memory.h"

namespace understudy::replayer {
namespace {

using et_schema::MemoryPlan;

/// Returns the program with tensors on other devices reduced to 0 bytes.
Program only_on(c10::Device device, Program program, c10::Device target) {
  for (et_schema::Storage& storage : program.storages) {
    if (map_device(storage.device, target) != device) {
      storage.bytes = 0;
    }
  }
  return program;
}

std::uint64_t needed_of(const MemoryPlan& plan, const Program& program, c10::Device device) {
  return plan.peak_bytes - std::min(plan.peak_bytes, mapped_bytes(program, device));
}

/// Lists the largest tensors, one per line, after the line "got:".
std::string largest_text(const Program& program, const MemoryPlan& plan) {
  std::string text;
  for (const et_schema::LiveTensor& tensor : plan.largest) {
    text += fmt::format("\n{} bytes: {}, {}", tensor.bytes,
                        et_schema::layout_text(program.slots[tensor.slot]),
                        et_schema::maker_text(program, plan, tensor));
  }
  return text;
}

[[noreturn]] void refuse(const Program& program, const MemoryPlan& plan, std::uint64_t needed,
                         std::string summary, std::string field, std::string expected) {
  const et_schema::Instruction* peak = plan.peak ? &program.instructions[*plan.peak] : nullptr;
  std::string got =
      fmt::format("{} bytes{}, {} of them made before the step; the largest tensors:{}", needed,
                  peak == nullptr ? "" : " in " + peak->name,
                  needed - std::min(needed, plan.peak_bytes - plan.external_bytes),
                  largest_text(program, plan));
  throw et_schema::run_failed(
      std::move(summary),
      {.node = peak == nullptr ? std::nullopt : std::optional(peak->node_id),
       .field = std::move(field),
       .expected = std::move(expected),
       .got = std::move(got),
       .hint = "understudy inspect --memory shows what is alive when. Replay where there is more "
               "memory, or fewer ranks on this machine (mpirun with several hosts, or --rank K for "
               "one rank alone)."});
}

/// Checks the free memory of `device`, one of the devices of a replay on `target`.
void check_free(const Program& program, c10::Device device, c10::Device target) {
  const MemoryPlan plan = et_schema::plan_memory(program);
  const std::uint64_t needed = needed_of(plan, program, target);
  const std::optional<std::uint64_t> free =
      device.is_cpu() ? available_memory() : device_free_bytes(device);
  if (free && needed > *free) {
    refuse(program, plan, needed, "out of memory: the benchmark does not fit",
           "memory of " + device_text(device),
           fmt::format("at most {} bytes, what is free", *free));
  }
}

}  // namespace

bool is_page_locked(const et_schema::Storage& storage, c10::Device target) {
  return storage.pinned && target.is_cuda() && map_device(storage.device, target).is_cpu();
}

bool maps_on_demand(const et_schema::Storage& storage, c10::Device target) {
  return static_cast<std::size_t>(storage.bytes) >= kMappedBytes &&
         map_device(storage.device, target).is_cpu() && !is_page_locked(storage, target);
}

std::uint64_t mapped_bytes(const Program& program, c10::Device device) {
  std::vector<bool> counted(program.storages.size());
  std::uint64_t bytes = 0;
  for (const et_schema::Instruction& instruction : program.instructions) {
    et_schema::for_each_slot(instruction.args, [&](et_schema::SlotId slot) {
      const et_schema::StorageId id = program.slots[slot].storage;
      const et_schema::Storage& storage = program.storages[id];
      if (!counted[id] && storage.external && maps_on_demand(storage, device)) {
        counted[id] = true;
        bytes += static_cast<std::uint64_t>(storage.bytes);
      }
    });
  }
  return bytes;
}

std::uint64_t needed_bytes_on(const Program& program, c10::Device device, c10::Device target) {
  const Program own = only_on(device, program, target);
  return needed_of(et_schema::plan_memory(own), own, target);
}

void check_memory(const Program& program, c10::Device device,
                  std::optional<std::uint64_t> limit_bytes) {
  const c10::Device cpu(c10::kCPU);
  const Program own = device.is_cpu() ? program : only_on(device, program, device);
  const MemoryPlan plan = et_schema::plan_memory(own);
  const std::uint64_t needed = needed_of(plan, own, device);
  if (limit_bytes && needed > *limit_bytes) {
    refuse(own, plan, needed, "the benchmark needs more memory than it may take", "--memory-limit",
           fmt::format("at most {} bytes", *limit_bytes));
  }
  check_free(own, device, device);
  if (!device.is_cpu()) {
    check_free(only_on(cpu, program, device), cpu, device);
  }
}

}  // namespace understudy::replayer
