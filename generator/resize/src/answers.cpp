#include "answers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/model/bodies.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {

Answers::Answers(const Program& program, std::vector<OtherSize> told, int rank)
    : program_(program), told_(std::move(told)), rank_(rank) {
  et_schema::for_each_instruction(program_.instructions,
                                  [this](const Instruction& call) { calls_.push_back(&call); });
  if (!std::ranges::all_of(told_, [this](const OtherSize& one) { return fits(one); })) {
    throw et_schema::bad_input("other sizes of another program", {.rank = rank_});
  }
}

void Answers::refuse(const std::string& what, const std::string& sizes,
                     const std::string& hint) const {
  constexpr std::size_t kMost = 12;
  const Instruction* first = nullptr;
  std::vector<std::string> why;
  for (const OtherSize& one : told_) {
    if (one.instruction && !one.refused.empty()) {
      const Instruction& call = call_of(one);
      why.push_back(first == nullptr
                        ? one.refused
                        : fmt::format("{} (node {}): {}", call.name, call.node_id, one.refused));
      first = first == nullptr ? &call : first;
    }
  }
  if (first == nullptr) {
    return;
  }
  if (why.size() > kMost) {
    const std::size_t more = why.size() - kMost;
    why.resize(kMost);
    why.push_back(fmt::format("{} more", more));
  }
  throw et_schema::bad_input(what, {.rank = rank_,
                                    .node = first->node_id,
                                    .field = first->name,
                                    .expected = fmt::format("operators that run with {}", sizes),
                                    .got = fmt::format("{}", fmt::join(why, "; ")),
                                    .hint = hint});
}

void Answers::apply(Program& copy, std::int64_t place) const {
  std::vector<Instruction*> calls;
  et_schema::for_each_instruction(copy.instructions,
                                  [&](Instruction& call) { calls.push_back(&call); });
  for (const OtherSize& one : told_) {
    if (one.slot) {
      Slot& slot = copy.slots[*one.slot];
      slot.sizes = one.sizes;
      slot.strides = one.strides;
      slot.offset = one.offset + place * one.step;
    } else if (one.argument) {
      Argument& argument = calls[*one.instruction]->args[*one.argument];
      Argument& number = one.item ? std::get<Argument::List>(argument.value)[*one.item] : argument;
      number.value = one.number + place * one.step;
    }
  }
}

bool Answers::fits(const OtherSize& one) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 44;  // of 2^17 ranks: no sum overflows
  if (one.step > 0 && std::max({one.step, one.offset, one.number}) > kMost) {
    return false;
  }
  if (one.slot) {
    return *one.slot < program_.slots.size() &&
           (!one.refused.empty() || (one.sizes.size() == program_.slots[*one.slot].sizes.size() &&
                                     one.strides.size() == one.sizes.size()));
  }
  if (one.known) {
    return true;
  }
  if (!one.instruction || *one.instruction >= calls_.size() || !one.argument) {
    return one.instruction && *one.instruction < calls_.size() && !one.item;
  }
  const std::vector<Argument>& args = calls_[*one.instruction]->args;
  if (*one.argument >= args.size()) {
    return false;
  }
  const Argument* argument = &args[*one.argument];
  if (one.item) {
    const auto* list = std::get_if<Argument::List>(&argument->value);
    argument = list != nullptr && *one.item < list->size() ? &(*list)[*one.item] : nullptr;
  }
  return argument != nullptr && std::holds_alternative<std::int64_t>(argument->value);
}

}  // namespace understudy::generator
