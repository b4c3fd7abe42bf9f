#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

// Value rules by what they say; ValueRule's fields have a meaning by kind.

[[nodiscard]] inline et_schema::ValueRule rule_of(et_schema::ValueRuleKind kind) {
  et_schema::ValueRule rule;
  rule.kind = kind;
  return rule;
}

[[nodiscard]] inline et_schema::ValueRule integers(std::int64_t low, std::int64_t high) {
  et_schema::ValueRule rule = rule_of(et_schema::ValueRuleKind::kIntegers);
  rule.low = low;
  rule.high = std::max(high, low + 1);
  return rule;
}

/// Integers of which no more is asked than to be above zero: how large they are is a guess.
[[nodiscard]] inline et_schema::ValueRule any_positive() {
  constexpr std::int64_t kFewIntegers = 8;
  return integers(1, kFewIntegers);
}

[[nodiscard]] inline bool is_any_positive(const et_schema::ValueRule& rule) {
  const et_schema::ValueRule any = any_positive();
  return rule.kind == any.kind && rule.low == any.low && rule.high == any.high;
}

[[nodiscard]] inline et_schema::ValueRule uniform(double low, double high) {
  et_schema::ValueRule rule = rule_of(et_schema::ValueRuleKind::kUniform);
  rule.a = low;
  rule.b = high;
  return rule;
}

[[nodiscard]] inline et_schema::ValueRule normal(double deviation) {
  et_schema::ValueRule rule = rule_of(et_schema::ValueRuleKind::kNormal);
  rule.b = deviation;
  return rule;
}

[[nodiscard]] inline et_schema::ValueRule constant(double value) {
  et_schema::ValueRule rule = rule_of(et_schema::ValueRuleKind::kConstant);
  rule.a = value;
  return rule;
}

[[nodiscard]] inline et_schema::ValueRule arange(std::int64_t low, std::int64_t step) {
  et_schema::ValueRule rule = rule_of(et_schema::ValueRuleKind::kArange);
  rule.low = low;
  rule.high = step;
  return rule;
}

/// Monotone from 0 to `end`, which the last element is if `include_last`.
[[nodiscard]] inline et_schema::ValueRule offsets(std::int64_t end, bool include_last) {
  et_schema::ValueRule rule = rule_of(et_schema::ValueRuleKind::kOffsets);
  rule.high = std::max<std::int64_t>(end, 0);
  rule.include_last = include_last;
  return rule;
}

[[nodiscard]] inline et_schema::ValueRule lengths(std::vector<et_schema::ValueRule::Segment> parts,
                                                  std::string why = {}) {
  et_schema::ValueRule rule = rule_of(et_schema::ValueRuleKind::kLengths);
  rule.segments = std::move(parts);
  rule.why = std::move(why);
  return rule;
}

[[nodiscard]] inline et_schema::ValueRule mask(std::int64_t true_elements) {
  et_schema::ValueRule rule = rule_of(et_schema::ValueRuleKind::kMask);
  rule.high = true_elements;
  return rule;
}

[[nodiscard]] inline et_schema::ValueRule bernoulli(double probability) {
  et_schema::ValueRule rule = rule_of(et_schema::ValueRuleKind::kBernoulli);
  rule.a = probability;
  return rule;
}

}  // namespace understudy::generator
