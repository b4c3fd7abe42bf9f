#include "generator/chakra/chakra_job.h"

#include <algorithm>
#include <array>

#include "chakra_values.h"
#include "et_schema/base/assert.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

// In the order of enum ChakraLoss.
constexpr std::array<ChakraLossInfo, kChakraLosses> kLosses = {{
    {"bodies", "Operators recorded below an operator, which replace it where a target lacks it."},
    {"value_rules",
     "Tensors with a rule for their content; read back, what operators ask for is found anew."},
    {"zeros", "Tensors whose share of zeros was recorded."},
    {"sparse_contents", "Sparse tensors of before the step, with the number of their elements."},
    {"python_numbers",
     "Numbers of Python that operators took as tensors: their values, where they are not known."},
    {"held_storages", "Storages that the original held beyond their last reader."},
    {"optimizer_state", "Storages that an optimizer made in its first step."},
    {"pinned_memory", "Tensors of before the step in page-locked memory."},
    {"untouched_memory", "Memory that the original held and no operator meets."},
    {"heap_blocks", "Blocks that operators took from the C library's heap."},
    {"label_inputs", "Labels that did work: what they had of their forward pass."},
    {"device_waits", "Calls that only waited for a device: dependencies now, without their time."},
    {"group_names", "Names of process groups; ASTRA-sim wants numbers."},
    {"profile_details", "What is known of a profile beside times: its file, settings, observer."},
}};

constexpr bool every_loss_is_described() {
  return std::ranges::all_of(kLosses, [](const ChakraLossInfo& loss) {
    return !loss.name.empty() && !loss.meaning.empty();
  });
}
static_assert(every_loss_is_described(), "a ChakraLoss has no line in the table");

}  // namespace

const ChakraLossInfo& info(ChakraLoss loss) {
  const auto index = static_cast<std::size_t>(loss);
  UNDERSTUDY_ASSERT(index < kChakraLosses);
  return kLosses[index];
}

std::map<ChakraLoss, std::uint64_t> chakra_losses(const Program& program) {
  std::map<ChakraLoss, std::uint64_t> counts;
  const auto add = [&counts](ChakraLoss loss, std::uint64_t count) {
    if (count > 0) {
      counts[loss] += count;
    }
  };
  std::vector<bool> is_told(program.slots.size());
  for (const Instruction& instruction : program.instructions) {
    if (!instruction.comm && instruction.kind != et_schema::InstructionKind::kNative) {
      et_schema::for_each_slot(instruction.args, [&](et_schema::SlotId id) {
        is_told[id] = is_known_number(program.slots[id]);
      });
    }
    add(ChakraLoss::kBodies, instruction.body.size());
    add(ChakraLoss::kNativeInputs, instruction.kind == et_schema::InstructionKind::kNative ? 1 : 0);
  }
  for (const auto& [instruction, blocks] : program.heap_blocks) {
    add(ChakraLoss::kHeapBlocks, blocks.size());
  }
  for (std::size_t id = 0; id < program.slots.size(); ++id) {
    const et_schema::Slot& slot = program.slots[id];
    add(ChakraLoss::kWrapped, slot.wrapped_number && !is_told[id] ? 1 : 0);
    add(ChakraLoss::kValueRules, slot.value && !slot.wrapped_number && !is_told[id] ? 1 : 0);
    add(ChakraLoss::kSparse, slot.content ? 1 : 0);
  }
  for (const et_schema::Storage& storage : program.storages) {
    add(ChakraLoss::kZeros, storage.zeros > 0 ? 1 : 0);
    add(ChakraLoss::kHeld, storage.held_until ? 1 : 0);
    add(ChakraLoss::kState, storage.state ? 1 : 0);
    add(ChakraLoss::kPinned, storage.pinned ? 1 : 0);
    add(ChakraLoss::kUntouched, storage.untouched ? 1 : 0);
  }
  if (program.profile) {
    add(ChakraLoss::kProfile, 1);
    add(ChakraLoss::kWaits, et_schema::waits_between(*program.profile).size());
  }
  return counts;
}

}  // namespace understudy::generator
