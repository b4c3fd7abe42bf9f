#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

// Constructors of value rules, by kind.

[[nodiscard]] inline et_schema::ValueRule integers(std::int64_t low, std::int64_t high,
                                                   std::string why = {}) {
  return {et_schema::ValueRule::Integers{.low = low, .high = std::max(high, low + 1)},
          std::move(why)};
}

/// Returns the rule for integers that must only be positive. The range is a guess.
[[nodiscard]] inline et_schema::ValueRule any_positive() {
  constexpr std::int64_t kFewIntegers = 8;
  return integers(1, kFewIntegers);
}

[[nodiscard]] inline bool is_any_positive(const et_schema::ValueRule::Integers& rule) {
  return et_schema::IntegerRange{rule.low, rule.high} == et_schema::range_of(any_positive());
}

[[nodiscard]] inline et_schema::ValueRule uniform(double low, double high) {
  return {et_schema::ValueRule::Uniform{.low = low, .high = high}};
}

[[nodiscard]] inline et_schema::ValueRule normal(double deviation) {
  return {et_schema::ValueRule::Normal{.deviation = deviation}};
}

[[nodiscard]] inline et_schema::ValueRule constant(double value, std::string why = {}) {
  return {et_schema::ValueRule::Constant{value}, std::move(why)};
}

[[nodiscard]] inline et_schema::ValueRule arange(std::int64_t start, std::int64_t step) {
  return {et_schema::ValueRule::Arange{.start = start, .step = step}};
}

/// Returns the rule for monotone offsets from 0. The last one is `end` if `include_last`.
[[nodiscard]] inline et_schema::ValueRule offsets(std::int64_t end, bool include_last,
                                                  std::int64_t longest = 0) {
  return {et_schema::ValueRule::Offsets{
      .end = std::max<std::int64_t>(end, 0), .include_last = include_last, .longest = longest}};
}

[[nodiscard]] inline et_schema::ValueRule lengths(std::vector<et_schema::ValueRule::Segment> parts,
                                                  std::string why = {}) {
  return {et_schema::ValueRule::Lengths{std::move(parts)}, std::move(why)};
}

[[nodiscard]] inline et_schema::ValueRule mask(std::int64_t true_elements, std::string why = {}) {
  return {et_schema::ValueRule::Mask{true_elements}, std::move(why)};
}

[[nodiscard]] inline et_schema::ValueRule bernoulli(double probability) {
  return {et_schema::ValueRule::Bernoulli{probability}};
}

}  // namespace understudy::generator
