// Propagates demands on lengths, offsets and counts to the tensors that determine them.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "generator/flow/model_names.h"
#include "value_arguments.h"
#include "value_carry.h"
#include "value_kinds.h"
#include "value_rules.h"

namespace understudy::generator {
namespace {

std::int64_t sum_of(const ValueRule::Lengths& lengths) {
  std::int64_t sum = 0;
  for (const ValueRule::Segment& segment : lengths.segments) {
    sum += segment.sum;
  }
  return sum;
}

/// Returns the only tensor among a communication's inputs (side 0) or outputs (1); empty otherwise.
std::optional<SlotId> lone_slot(const Instruction& call, std::size_t side) {
  const auto* list = side < call.args.size()  // a barrier has no arguments
                         ? std::get_if<Argument::List>(&call.args[side].value)
                         : nullptr;
  return list != nullptr && list->size() == 1 ? slot_of(&list->front()) : std::nullopt;
}

}  // namespace

void ValueCarrier::visit_collective(const Instruction& instruction) {
  const std::optional<SlotId> sent = lone_slot(instruction, 0);
  if (!sent || !instruction.comm) {
    return;
  }
  const Slot& slot = program_.slots[*sent];
  if (instruction.comm->in_splits.empty()) {
    counts_of_exchange(instruction, *sent);
    return;
  }
  sent_[slot.storage] = {slot.offset, instruction.comm->in_splits};
  const std::vector<std::int64_t>& out = instruction.comm->out_splits;
  exchanges_.push_back({instruction.comm->group, instruction.comm->in_splits,
                        std::accumulate(out.begin(), out.end(), std::int64_t{0})});
}

/// Demands counts that fit the values. Ranks exchange the counts of values (per expert, per table
/// or in total) before the values themselves. So the counts sent to a rank must add up to the part
/// that is sent later, and the counts received to the values received later.
void ValueCarrier::counts_of_exchange(const Instruction& instruction, SlotId sent) {
  const std::optional<SlotId> heard = lone_slot(instruction, 1);
  if (!heard || instruction.comm->kind != et_schema::CommKind::kAllToAll) {
    return;
  }
  const std::int64_t count = element_count(program_.slots[sent]);
  for (const Demand& demand : std::vector<Demand>(demands_.on(program_.slots[*heard].storage))) {
    const auto* asked = demand.rule.as<ValueRule::Lengths>();
    const std::int64_t sum = asked == nullptr ? -1 : sum_of(*asked);
    const auto then = std::find_if(exchanges_.rbegin(), exchanges_.rend(), [&](const Exchange& e) {
      return e.group == instruction.comm->group && e.received == sum &&
             count % static_cast<std::int64_t>(e.in_splits.size()) == 0;
    });
    if (then == exchanges_.rend()) {
      continue;
    }
    std::vector<ValueRule::Segment> segments;
    for (const std::int64_t part : then->in_splits) {
      segments.push_back({count / static_cast<std::int64_t>(then->in_splits.size()), part});
    }
    demands_.ask(sent, lengths(std::move(segments), demand.rule.why));
  }
}

/// Returns the lengths that a running sum adds up: a vector of integers. Empty for other operands.
std::optional<SlotId> ValueCarrier::summed_up(const Instruction& sum) const {
  const std::optional<SlotId> slot = slot_named(program_, sum, "self");
  const bool is_vector = slot && program_.slots[*slot].sizes.size() == 1 &&
                         et_schema::is_integral(program_.slots[*slot].dtype);
  return is_vector ? slot : std::nullopt;
}

/// Demands lengths of groups for a demand on their ends, which are running sums of the lengths.
void ValueCarrier::ends_to_lengths(const Instruction& instruction) {
  const std::optional<SlotId> source = summed_up(instruction);
  const std::optional<SlotId> result = slot_at(instruction.results, 0);
  if (!source || !result) {
    return;
  }
  const Slot& sums = program_.slots[*result];
  for (const Demand& demand : std::vector<Demand>(demands_.on(sums.storage))) {
    const std::optional<ValueRule> asked = lengths_of_ends(demand.rule);
    if (asked && demand.offset == sums.offset && demand.count == element_count(sums)) {
      demands_.ask(*source, *asked);
    }
  }
}

/// Demands lengths with sum N for offsets that end at N, which are their running sums.
void ValueCarrier::offsets_to_lengths(const Instruction& instruction) {
  const std::optional<SlotId> result = slot_at(instruction.results, 0);
  const std::optional<SlotId> source = slot_named(program_, instruction, "t_in");
  if (!result || !source) {
    return;
  }
  for (const Demand& demand : std::vector<Demand>(demands_.on(program_.slots[*result].storage))) {
    if (const auto* asked = demand.rule.as<ValueRule::Offsets>()) {
      demands_.ask(*source, lengths({{element_count(program_.slots[*source]), asked->end}},
                                    demand.rule.why));
    }
  }
}

/// The permutation is generated as the identity unless it has more places than rows. So a demand on
/// the permuted lengths applies to the lengths themselves. The lengths sent to a rank must add up
/// to the values sent to it, and all lengths to the number of values.
void ValueCarrier::lengths_of_permuted(const Instruction& instruction) {
  const std::optional<SlotId> source = slot_named(program_, instruction, "lengths");
  const std::optional<SlotId> permuted = slot_at(instruction.results, 0);
  const std::optional<SlotId> values = slot_at(instruction.results, 1);
  if (!source || !permuted || !values) {
    return;
  }
  const Slot& of = program_.slots[*source];
  const std::int64_t rows = of.sizes.empty() ? 0 : of.sizes.front();
  const std::int64_t again = size_at(&program_.slots[*permuted], 0).value_or(0) - rows;
  if (rows > 0 && again > 0 && again <= rows) {  // the first rows occur twice
    const std::optional<SlotId> from = slot_named(program_, instruction, "values");
    const std::int64_t all = from ? element_count(program_.slots[*from]) : 0;
    const std::int64_t twice = element_count(program_.slots[*values]) - all;
    const std::int64_t each = element_count(of) / rows;
    if (twice >= 0 && twice <= all && (again < rows || twice == all)) {
      demands_.ask(*source, lengths({{again * each, twice}, {(rows - again) * each, all - twice}},
                                    "fbgemm::permute_2D_sparse_data.lengths"));
    }
    return;
  }
  const auto sent_lengths = sent_.find(program_.slots[*permuted].storage);
  const auto sent_values = sent_.find(program_.slots[*values].storage);
  if (sent_lengths == sent_.end() || sent_values == sent_.end() ||
      sent_lengths->second.splits.size() != sent_values->second.splits.size()) {
    return;
  }
  std::int64_t count_left = element_count(of);
  std::int64_t sum_left = element_count(program_.slots[*values]);
  std::vector<ValueRule::Segment> segments;
  for (std::size_t i = 0; i < sent_lengths->second.splits.size(); ++i) {
    segments.push_back({sent_lengths->second.splits[i], sent_values->second.splits[i]});
    count_left -= segments.back().count;
    sum_left -= segments.back().sum;
  }
  if (count_left < 0 || sum_left < 0) {
    return;
  }
  if (count_left > 0) {
    segments.push_back({count_left, sum_left});
  }
  demands_.ask(*source, lengths(std::move(segments), "all_to_allv.in_splits"));
}

}  // namespace understudy::generator
