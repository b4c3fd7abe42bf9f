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
  if (!std::ranges::all_of(
          told_, [this](const OtherSize& one) { return et_schema::fits(one, program_, calls_); })) {
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

}  // namespace understudy::generator
