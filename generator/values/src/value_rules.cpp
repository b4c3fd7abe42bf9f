#include "value_rules.h"

#include <algorithm>

#include "generator/flow/model_names.h"
#include "value_arguments.h"
#include "value_kinds.h"

namespace understudy::generator {
namespace {

std::optional<ValueRule> index_rule(const ArgumentFact& row, const CallView& call) {
  const Slot* of = call.tensor(row.of);
  if (of != nullptr && call.op().starts_with("fbgemm::") && row.dim == 0 &&
      call.tensor("weights_offsets") != nullptr) {
    return integers(0, rows_per_table(call, *of));
  }
  const std::optional<std::int64_t> bound = call.bound(row);
  return bound && *bound > 0 ? std::optional(integers(0, *bound)) : std::nullopt;
}

/// Returns the rule for flat positions in the last `row.dim` dimensions (all, if fewer).
std::optional<ValueRule> plane_index_rule(const ArgumentFact& row, const CallView& call) {
  const Slot* of = row.of.empty() ? call.first_result() : call.tensor(row.of);
  if (of == nullptr) {
    return std::nullopt;
  }
  std::int64_t positions = 1;
  const std::size_t dims = std::min(of->sizes.size(), static_cast<std::size_t>(row.dim));
  for (std::size_t i = of->sizes.size() - dims; i < of->sizes.size(); ++i) {
    positions *= of->sizes[i];
  }
  return integers(0, positions);
}

std::optional<ValueRule> class_rule(const ArgumentFact& row, const CallView& call) {
  constexpr std::int64_t kUsualIgnoreIndex = -100;
  const Slot* scores = call.tensor(row.of);
  const Slot* target = call.tensor(row.name);
  if (scores == nullptr || target == nullptr || !et_schema::is_integral(target->dtype)) {
    return std::nullopt;  // targets are class probabilities
  }
  return ValueRule{
      ValueRule::Targets{.classes = size_at(scores, scores->sizes.size() > 1 ? 1 : 0).value_or(1),
                         .ignore_index = call.integer("ignore_index").value_or(kUsualIgnoreIndex)}};
}

std::optional<ValueRule> label_rule(const ArgumentFact& row, const CallView& call) {
  const std::int64_t classes = call.bound(row).value_or(2);
  return integers(classes > 1 ? 1 : 0, classes);
}

}  // namespace

std::optional<ValueRule> make_rule(const ArgumentFact& row, const Program& program,
                                   const Instruction& instruction) {
  const CallView call(program, instruction);
  switch (row.meaning) {
    case Meaning::kIndex:
      return index_rule(row, call);
    case Meaning::kPlaneIndex:
      return plane_index_rule(row, call);
    case Meaning::kIndexList:
      return std::nullopt;  // value_flow handles each element of the list
    case Meaning::kClass:
      return class_rule(row, call);
    case Meaning::kLabel:
      return label_rule(row, call);
    case Meaning::kSizeOf: {
      const std::optional<std::int64_t> bound = call.bound(row);
      return bound ? std::optional(constant(static_cast<double>(*bound))) : std::nullopt;
    }
    default:
      break;
  }
  for (const auto make : {make_jagged_rule, make_mask_rule, make_number_rule}) {
    if (std::optional<ValueRule> rule = make(row, call)) {
      return rule;
    }
  }
  return std::nullopt;
}

}  // namespace understudy::generator
