#include "demands.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"
#include "reuse_rules.h"
#include "value_kinds.h"
#include "value_rules.h"

namespace understudy::generator {
namespace {

/// Of floats that are parts of memory made as integers: scales of quantised blocks, for example.
constexpr double kDeviationOfParts = 0.02;

using Integers = ValueRule::Integers;
using Lengths = ValueRule::Lengths;
using Offsets = ValueRule::Offsets;
using ReusedIntegers = ValueRule::ReusedIntegers;
using Targets = ValueRule::Targets;

/// Narrows targets by a range. If a captured one includes the ignored class, assumes a share of
/// ignored targets.
ValueRule narrow_targets(ValueRule rule, const Integers& range, bool is_captured) {
  constexpr double kAssumedIgnoredShare = 0.1;
  Targets& targets = std::get<Targets>(rule.kind);
  if (range.high > 0) {
    targets.classes = std::min(targets.classes, range.high);
  }
  if (is_captured && range.low <= targets.ignore_index) {
    targets.ignored_share = kAssumedIgnoredShare;
  }
  return rule;
}

/// Intersects a range with another one; keeps it if they are disjoint.
void narrow(Integers& range, const Integers& other) {
  const std::int64_t low = std::max(range.low, other.low);
  const std::int64_t high = std::min(range.high, other.high);
  if (low < high) {
    range.low = low;
    range.high = high;
  }
}

/// Intersects two ranges. If they are disjoint, they cannot both describe this memory. The range
/// that the operator demands then wins over a captured one, so that the operator can run.
ValueRule intersect(const ValueRule& a, const ValueRule& b) {
  ValueRule both = a.why == kCapturedRange ? b : a;
  const ValueRule& other = a.why == kCapturedRange ? a : b;
  Integers& range = std::get<Integers>(both.kind);
  const Integers& other_range = std::get<Integers>(other.kind);
  if (is_any_positive(range) && other.why == kCapturedRange && other_range.low > 0) {
    return other;  // an observation takes precedence over a guess
  }
  narrow(range, other_range);
  range.distinct = std::max(range.distinct, other_range.distinct);
  return both;
}

/// Joins two demands on the same offsets. Not all operators record whether the last offset is the
/// end (embedding_bag's backward does not): if one demand includes the end, the result does.
ValueRule join_offsets(const ValueRule& known, const ValueRule& asked) {
  const Offsets& of_known = std::get<Offsets>(known.kind);
  const Offsets& of_asked = std::get<Offsets>(asked.kind);
  const bool both_bound = of_known.longest > 0 && of_asked.longest > 0;
  ValueRule both = of_asked.include_last ? asked : known;
  std::get<Offsets>(both.kind).longest = both_bound ? std::min(of_known.longest, of_asked.longest)
                                                    : std::max(of_known.longest, of_asked.longest);
  return both;
}

ValueRule stricter(const ValueRule& known, const ValueRule& asked, std::int64_t count) {
  const auto* known_range = known.as<Integers>();
  const auto* asked_range = asked.as<Integers>();
  if (known_range != nullptr && asked.is<ReusedIntegers>()) {
    return narrow_reuse(asked, known, count);
  }
  if (known.is<ReusedIntegers>() && asked_range != nullptr) {
    return narrow_reuse(known, asked, count);
  }
  // A normal distribution is only a preference: any other demand is stricter.
  if (known.is<ValueRule::Normal>() || asked.is<ValueRule::Normal>()) {
    return known.is<ValueRule::Normal>() ? asked : known;
  }
  if (known_range != nullptr && asked_range != nullptr) {
    return intersect(known, asked);
  }
  if (known.is<Targets>() && asked_range != nullptr) {
    return narrow_targets(known, *asked_range, asked.why == kCapturedRange);
  }
  if (known_range != nullptr && asked.is<Targets>()) {
    return narrow_targets(asked, *known_range, known.why == kCapturedRange);
  }
  if (known.is<ReusedIntegers>() && asked.is<Targets>()) {
    return asked;
  }
  if (const auto* first = known.as<Lengths>(), *second = asked.as<Lengths>();
      first != nullptr && second != nullptr) {
    return second->segments.size() > first->segments.size() ? asked : known;
  }
  if (known.is<Offsets>() && asked.is<Offsets>()) {
    return join_offsets(known, asked);
  }
  return is_order_free(known) && !is_order_free(asked) ? asked : known;
}

/// Adapts a rule about a slot's elements to the `count` elements of storage that the slot spans.
void fit_to_layout(ValueRule& rule, const Slot& slot, std::int64_t count) {
  if (auto* mask = rule.as<ValueRule::Mask>()) {
    const std::int64_t left_out = element_count(slot) - mask->count;
    mask->count = mask->count <= left_out ? std::min(mask->count, count)
                                          : std::max<std::int64_t>(count - left_out, 0);
  } else if (auto* reused = rule.as<ReusedIntegers>()) {
    std::int64_t& run = reused->reuse.run;
    for (std::size_t dim = slot.sizes.size(); dim-- > 0;) {
      const bool repeats = dim < slot.strides.size() && slot.strides[dim] == 0;
      if (!repeats || slot.sizes[dim] < 1 || run % slot.sizes[dim] != 0) {
        break;
      }
      run /= slot.sizes[dim];
    }
  }
}

/// Returns true if a demand includes all elements of another one.
bool covers(const Demand& demand, const Demand& other) {
  return demand.dtype == other.dtype && demand.offset <= other.offset &&
         other.offset + other.count <= demand.offset + demand.count;
}

/// Extends a demand on the first `count` of `all` elements to all of them; empty if that is
/// impossible.
std::optional<ValueRule> extended(ValueRule rule, std::int64_t count, std::int64_t all) {
  if (auto* lengths = rule.as<Lengths>()) {
    if (count < all) {
      lengths->segments.push_back({all - count, 0});
    }
    return rule;
  }
  auto* offsets = rule.as<Offsets>();
  if (offsets == nullptr || (offsets->include_last && count < all)) {
    return std::nullopt;
  }
  // One further element can only be the end.
  offsets->include_last = offsets->include_last || count + 1 == all;
  return rule;
}

/// Joins lengths demanded of parts, with zeros between them; empty if there is no such demand.
std::optional<ValueRule> lengths_of_parts(const std::vector<Demand>& demands, const Slot& slot) {
  std::map<std::int64_t, const Demand*> parts;  // by offset; the largest part of each
  for (const Demand& demand : demands) {
    if (demand.rule.is<Lengths>() && demand.dtype == slot.dtype) {
      const Demand*& part = parts[demand.offset];
      part = part == nullptr || demand.count > part->count ? &demand : part;
    }
  }
  ValueRule whole;
  std::vector<ValueRule::Segment> segments;
  std::int64_t covered = slot.offset;
  const std::int64_t end = slot.offset + element_count(slot);
  for (const auto& [offset, part] : parts) {
    if (offset < covered || offset + part->count > end) {
      continue;
    }
    if (offset > covered) {
      segments.push_back({offset - covered, 0});
    }
    const std::vector<ValueRule::Segment>& asked = std::get<Lengths>(part->rule.kind).segments;
    segments.insert(segments.end(), asked.begin(), asked.end());
    covered = offset + part->count;
    whole = part->rule;
  }
  if (whole.why.empty() && segments.empty()) {
    return std::nullopt;
  }
  if (covered < end) {
    segments.push_back({end - covered, 0});
  }
  whole.kind = Lengths{std::move(segments)};
  return whole;
}

using Coverers = std::vector<const Demand*>;

/// Returns for each demand those that cover it, itself among them, in order. Takes O(n log n) time
/// if few overlap.
std::vector<Coverers> coverers_of(const std::vector<Demand>& demands) {
  std::vector<const Demand*> by_offset;
  for (const Demand& demand : demands) {
    by_offset.push_back(&demand);
  }
  std::ranges::stable_sort(by_offset, {}, [](const Demand* demand) {
    return std::pair(demand->offset, -demand->count);
  });
  std::vector<Coverers> coverers(demands.size());
  Coverers open;
  for (const Demand* demand : by_offset) {
    std::erase_if(open, [demand](const Demand* other) {
      return other->offset + other->count < demand->offset;
    });
    open.push_back(demand);
    Coverers& found = coverers[static_cast<std::size_t>(demand - demands.data())];
    std::ranges::copy_if(open, std::back_inserter(found),
                         [demand](const Demand* other) { return covers(*other, *demand); });
    std::ranges::sort(found);
  }
  return coverers;
}

/// Returns true if a reuse recorded for more elements already implies the demanded range.
bool is_met_by_a_reuse(const Coverers& coverers, const Demand& demand) {
  const auto* range = demand.rule.as<Integers>();
  return range != nullptr && range->distinct == 0 &&
         std::ranges::any_of(coverers, [&](const Demand* other) {
           const auto* reused = other->rule.as<ReusedIntegers>();
           return reused != nullptr && (demand.rule.why == kCapturedRange ||
                                        (range->low <= reused->low && reused->high <= range->high));
         });
}

/// Returns true for captured integers. If floats are there too, these are the floats' bits: drawn
/// anew, they would be floats of any kind, NaN among them.
bool was_captured(const Demand& demand) {
  return et_schema::is_integral(demand.dtype) &&
         (demand.rule.why == kCapturedRange || demand.rule.why == kCapturedReuse);
}

bool is_part_of_floats(const Demand& demand, const Slot& slot) {
  const std::int64_t bytes = et_schema::item_size(demand.dtype);
  return et_schema::is_floating(slot.dtype) &&
         demand.offset * bytes < et_schema::extent_bytes(slot) &&
         slot.offset * et_schema::item_size(slot.dtype) < (demand.offset + demand.count) * bytes;
}

/// Narrows the range of a demand by the ranges of demands that cover the same elements.
ValueRule range_of_part(const Coverers& coverers, const Demand& demand) {
  ValueRule rule = demand.rule;
  Integers& range = std::get<Integers>(rule.kind);
  for (const Demand* other : coverers) {
    if (const auto* whole = other->rule.as<Integers>()) {
      narrow(range, *whole);
    }
  }
  return rule;
}

}  // namespace

bool is_order_free(const ValueRule& rule) {
  return rule.is<Integers>() || rule.is<ValueRule::Uniform>() || rule.is<ValueRule::Normal>() ||
         rule.is<ValueRule::Constant>() || rule.is<Targets>() || rule.is<ValueRule::Bernoulli>() ||
         rule.is<ReusedIntegers>();
}

Demands::Demands(et_schema::Program& program)
    : program_(program), by_storage_(program.storages.size()), places_(program.storages.size()) {}

void Demands::ask(SlotId id, ValueRule rule, bool through_arithmetic) {
  const Slot& slot = program_.slots[id];
  if (slot.wrapped_number) {
    return;
  }
  const bool anywhere = is_order_free(rule) || rule.is<ValueRule::Mask>();
  const std::int64_t count = anywhere ? et_schema::extent_elements(slot) : element_count(slot);
  fit_to_layout(rule, slot, count);
  add(slot.storage, {slot.offset, count, slot.dtype, std::move(rule), through_arithmetic});
}

void Demands::ask(const et_schema::Argument& argument, const ValueRule& rule,
                  bool through_arithmetic) {
  if (const auto* slot = std::get_if<et_schema::Argument::SlotRef>(&argument.value)) {
    ask(slot->id, rule, through_arithmetic);
  } else if (const auto* list = std::get_if<et_schema::Argument::List>(&argument.value)) {
    for (const et_schema::Argument& item : *list) {
      ask(item, rule, through_arithmetic);
    }
  }
}

void Demands::add(StorageId storage, const Demand& demand) {
  std::vector<Demand>& demands = by_storage_[storage];
  const auto [known, is_new] = places_[storage].try_emplace(
      std::tuple(demand.offset, demand.count, demand.dtype), demands.size());
  if (is_new) {
    demands.push_back(demand);
    return;
  }
  Demand& same = demands[known->second];
  same.through_arithmetic = same.through_arithmetic || demand.through_arithmetic;
  same.rule = stricter(same.rule, demand.rule, demand.count);
}

const Demand* Demands::widest(StorageId storage) const {
  const Demand* widest = nullptr;
  for (const Demand& demand : by_storage_[storage]) {
    if (widest == nullptr || demand.count >= widest->count) {
      widest = &demand;
    }
  }
  return widest;
}

std::optional<ValueRule> Demands::rule_of_all(const Slot& slot) const {
  const Demand* const widest_one = widest(slot.storage);
  if (widest_one == nullptr) {
    return std::nullopt;
  }
  const std::int64_t all = element_count(slot);
  std::optional<ValueRule> first;
  std::int64_t most = 0;
  for (const Demand& demand : by_storage_[slot.storage]) {
    const bool is_of_first = demand.offset == slot.offset && demand.count <= all &&
                             demand.count >= most && demand.dtype == slot.dtype;
    if (std::optional<ValueRule> rule =
            is_of_first ? extended(demand.rule, demand.count, all) : std::nullopt) {
      first = std::move(rule);
      most = demand.count;
    }
  }
  if (first || widest_one->count == all || is_order_free(widest_one->rule)) {
    return first ? first : widest_one->rule;
  }
  return lengths_of_parts(by_storage_[slot.storage], slot);
}

void Demands::write(const IndexSpread& spread) {
  std::vector<std::vector<SlotId>> external_slots(program_.storages.size());
  std::vector<std::vector<SlotId>> views(program_.storages.size());
  for (SlotId id = 0; id < program_.slots.size(); ++id) {
    const Slot& slot = program_.slots[id];
    (slot.external ? external_slots : views)[slot.storage].push_back(id);
  }
  for (StorageId storage = 0; storage < by_storage_.size(); ++storage) {
    const std::vector<Demand>& demands = by_storage_[storage];
    const auto is_sparse = [&](SlotId id) { return program_.slots[id].sparse; };
    if (!program_.storages[storage].external ||
        std::ranges::any_of(external_slots[storage], is_sparse)) {
      continue;
    }
    ContiguousSlots slots;
    for (const SlotId id : external_slots[storage]) {
      const Slot& slot = program_.slots[id];
      if (slot.strides == et_schema::contiguous_strides(slot.sizes)) {
        slots.try_emplace(std::tuple(slot.offset, element_count(slot), slot.dtype), id);
      }
    }
    const auto are_bits = [&](const Demand& demand) {
      return was_captured(demand) && std::ranges::any_of(external_slots[storage], [&](SlotId id) {
               return is_part_of_floats(demand, program_.slots[id]);
             });
    };
    const std::vector<Coverers> coverers = coverers_of(demands);
    for (std::size_t i = 0; i < demands.size(); ++i) {
      Demand wanted = demands[i];
      if (wanted.count < 1 || is_met_by_a_reuse(coverers[i], wanted) || are_bits(wanted)) {
        continue;
      }
      if (wanted.rule.is<Integers>()) {
        wanted.rule = range_of_part(coverers[i], wanted);
        if (wanted.rule.why != kCapturedRange) {
          wanted.rule = spread_indices(wanted.rule, spread, wanted.count, storage);
        }
      }
      write(storage, slots, wanted);
    }
    for (const SlotId view : views[storage]) {
      Slot part = program_.slots[view];
      const bool is_drawn = std::ranges::any_of(demands, [&](const Demand& demand) {
        return was_captured(demand) && !are_bits(demand) && is_part_of_floats(demand, part);
      });
      if (is_drawn) {
        part.external = true;
        part.value = normal(kDeviationOfParts);
        program_.slots.push_back(std::move(part));
      }
    }
  }
}

void Demands::write(StorageId storage, const ContiguousSlots& slots, const Demand& demand) {
  const auto known = slots.find(std::tuple(demand.offset, demand.count, demand.dtype));
  if (known != slots.end()) {
    program_.slots[known->second].value = demand.rule;
    return;
  }
  Slot part;
  part.storage = storage;
  part.dtype = demand.dtype;
  part.sizes = {demand.count};
  part.strides = {1};
  part.offset = demand.offset;
  part.external = true;
  part.value = demand.rule;
  et_schema::Storage& memory = program_.storages[storage];
  memory.bytes =
      std::max(memory.bytes, (demand.offset + demand.count) * et_schema::item_size(demand.dtype));
  program_.slots.push_back(std::move(part));
}

}  // namespace understudy::generator
