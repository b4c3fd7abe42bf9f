#include <algorithm>
#include <cstdint>
#include <limits>

#include "et_schema/model/value_problem.h"
#include "generator/values/value_flow.h"

namespace understudy::generator {
namespace {

using et_schema::DType;
using et_schema::ValueRule;

/// Returns the number above all integers of a type; the largest of 64 bits for wider and other
/// types.
std::int64_t above_all(DType dtype) {
  constexpr std::int64_t kBitsOfByte = 8;
  constexpr std::int64_t kMostBits = 62;
  const bool has_sign = dtype != DType::kUInt8 && dtype != DType::kUInt16 &&
                        dtype != DType::kUInt32 && dtype != DType::kUInt64;
  const std::int64_t bits = et_schema::item_size(dtype) * kBitsOfByte - (has_sign ? 1 : 0);
  return et_schema::is_integral(dtype) && bits <= kMostBits
             ? std::int64_t{1} << static_cast<unsigned>(bits)
             : std::numeric_limits<std::int64_t>::max();
}

/// Returns the number of elements that a replay draws: dimensions of stride 0 repeat theirs.
std::int64_t drawn_elements(const et_schema::Slot& slot) {
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < slot.sizes.size(); ++dim) {
    const bool repeats = dim < slot.strides.size() && slot.strides[dim] == 0 && slot.sizes[dim] > 1;
    elements *= repeats ? 1 : slot.sizes[dim];
  }
  return elements;
}

/// Returns the rule with numbers that the elements and their type can hold.
ValueRule bounded(ValueRule rule, std::int64_t elements, DType dtype) {
  const std::int64_t most = above_all(dtype);
  if (auto* mask = rule.as<ValueRule::Mask>()) {
    mask->count = std::clamp<std::int64_t>(mask->count, 0, elements);
  } else if (auto* integers = rule.as<ValueRule::Integers>()) {
    integers->high = std::min(integers->high, most);
  } else if (auto* targets = rule.as<ValueRule::Targets>()) {
    targets->classes = std::min(targets->classes, most);
  }
  return rule;
}

}  // namespace

void weaken_rules(et_schema::Program& program) {
  for (et_schema::Slot& slot : program.slots) {
    const std::int64_t elements = drawn_elements(slot);
    if (!slot.value || slot.sparse || elements == 0) {
      continue;
    }
    ValueRule nearest = bounded(*slot.value, elements, slot.dtype);
    const bool is_possible = !et_schema::find_problem(nearest, elements);
    if (is_possible && nearest == *slot.value) {
      continue;
    }
    slot.value = is_possible ? std::optional(std::move(nearest)) : std::nullopt;
    program.losses.add(et_schema::Loss::kAssumedArguments);
  }
}

}  // namespace understudy::generator
