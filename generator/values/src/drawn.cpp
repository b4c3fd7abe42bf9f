#include "drawn.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "et_schema/model/allocation.h"
#include "value_rules.h"

namespace understudy::generator {
namespace {

using et_schema::Instruction;
using et_schema::SlotId;

constexpr auto kDraws = std::to_array<std::string_view>(
    {"aten::bernoulli",    "aten::bernoulli_", "aten::binomial",     "aten::cauchy_",
     "aten::exponential_", "aten::geometric_", "aten::log_normal_",  "aten::multinomial",
     "aten::normal",       "aten::normal_",    "aten::poisson",      "aten::rand",
     "aten::rand_like",    "aten::randint",    "aten::randint_like", "aten::randn",
     "aten::randn_like",   "aten::random",     "aten::random_",      "aten::uniform_"});

constexpr auto kSelectors = std::to_array<std::string_view>(
    {"aten::gather", "aten::index", "aten::index_select", "aten::masked_select", "aten::take"});

constexpr auto kUnboundedArithmetic = std::to_array<std::string_view>(
    {"aten::add", "aten::bitwise_left_shift", "aten::cumsum", "aten::div", "aten::floor_divide",
     "aten::mul", "aten::neg", "aten::rsub", "aten::sub"});

}  // namespace

bool is_draw(std::string_view op) {
  return std::ranges::find(kDraws, op) != kDraws.end();
}

std::vector<bool> find_known(const et_schema::Program& program) {
  std::vector<bool> written(program.storages.size());
  std::vector<bool> known(program.storages.size());
  for (const Instruction& instruction : program.instructions) {
    const std::string_view op = without_overload(instruction.name);
    bool is_known = !instruction.comm && !is_draw(op) && !et_schema::allocates_memory(op);
    if (instruction.comm) {  // what others send is written into its arguments
      et_schema::for_each_slot(instruction.args,
                               [&](SlotId id) { known[program.slots[id].storage] = false; });
    }
    et_schema::for_each_slot(instruction.args, [&](SlotId id) {
      const et_schema::Slot& slot = program.slots[id];
      is_known &= slot.wrapped_number || known[slot.storage];
    });
    et_schema::for_each_slot(instruction.results, [&](SlotId id) {
      const et_schema::StorageId storage = program.slots[id].storage;
      known[storage] = is_known && (known[storage] || !written[storage]);
      written[storage] = true;
    });
  }
  return known;
}

bool leaves_range(std::string_view op) {
  return std::ranges::find(kSelectors, op) != kSelectors.end() ||
         std::ranges::find(kUnboundedArithmetic, op) != kUnboundedArithmetic.end();
}

std::vector<bool> find_selected(const et_schema::Program& program) {
  std::vector<bool> selected(program.storages.size());
  for (const Instruction& instruction : program.instructions) {
    bool is_selected = false;
    et_schema::for_each_slot(instruction.args, [&](SlotId id) {
      is_selected |= follows_made_mask(program.slots[id], selected);
    });
    et_schema::for_each_slot(instruction.results, [&](SlotId id) {
      const et_schema::Slot& slot = program.slots[id];
      selected[slot.storage] =
          selected[slot.storage] || (is_selected && et_schema::is_integral(slot.dtype));
    });
  }
  return selected;
}

bool follows_made_mask(const et_schema::Slot& slot, const std::vector<bool>& selected) {
  return (slot.value && slot.value->is<et_schema::ValueRule::Mask>()) ||
         (selected[slot.storage] && et_schema::is_integral(slot.dtype));
}

}  // namespace understudy::generator
