#include "drawn.h"

#include <algorithm>
#include <array>
#include <string_view>

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

/// What ranks send of what they drew, others receive: programs of a job are alike. Of what one rank
/// gives to others they do not see where it has it from.
void receive_drawn(const et_schema::Program& program, const Instruction& instruction,
                   std::vector<bool>& drawn) {
  if (instruction.args.size() < 2) {
    return;
  }
  const et_schema::CommKind kind = instruction.comm->kind;
  const bool comes_from_one = kind == et_schema::CommKind::kRecv ||
                              kind == et_schema::CommKind::kBroadcast ||
                              kind == et_schema::CommKind::kScatter;
  bool sends_other = false;
  et_schema::for_each_slot({instruction.args.front()},
                           [&](SlotId id) { sends_other |= !drawn[program.slots[id].storage]; });
  if (comes_from_one || !sends_other) {
    et_schema::for_each_slot({instruction.args[1]},
                             [&](SlotId id) { drawn[program.slots[id].storage] = true; });
  }
}

}  // namespace

bool is_draw(std::string_view op) {
  return std::ranges::find(kDraws, op) != kDraws.end();
}

std::vector<bool> find_drawn(const et_schema::Program& program) {
  std::vector<bool> drawn(program.storages.size());
  for (const Instruction& instruction : program.instructions) {
    if (instruction.comm) {
      receive_drawn(program, instruction, drawn);
      continue;
    }
    bool has_drawn = false;
    bool has_other = false;
    et_schema::for_each_slot(instruction.args, [&](SlotId id) {
      const et_schema::Slot& slot = program.slots[id];
      (drawn[slot.storage] ? has_drawn : has_other) |= !slot.wrapped_number;
    });
    if (is_draw(without_overload(instruction.name)) || (has_drawn && !has_other)) {
      et_schema::for_each_slot(instruction.results,
                               [&](SlotId id) { drawn[program.slots[id].storage] = true; });
    }
  }
  return drawn;
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
  return (slot.value && slot.value->kind == et_schema::ValueRuleKind::kMask) ||
         (selected[slot.storage] && et_schema::is_integral(slot.dtype));
}

}  // namespace understudy::generator
