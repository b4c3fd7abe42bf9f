#pragma once

// The rules for what tensors hold before the step, as the step's source writes them.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "et_schema/model/value_rule.h"

namespace bench {

namespace et_schema = understudy::et_schema;
using et_schema::ValueRule;

/// None: by dtype and shape.
using Rule = std::optional<ValueRule>;

/// By dtype and shape: weights by their fan-in, scales in [0.5, 1), integers 0.
inline Rule by_shape() {
  return {};
}
inline Rule zeros() {
  return ValueRule{ValueRule::Zeros{}};
}
inline Rule constant(double value) {
  return ValueRule{ValueRule::Constant{value}};
}
/// Floats from [low, high).
inline Rule uniform(double low, double high) {
  return ValueRule{ValueRule::Uniform{.low = low, .high = high}};
}
inline Rule normal(double mean, double deviation) {
  return ValueRule{ValueRule::Normal{.mean = mean, .deviation = deviation}};
}
/// Integers from [low, high); `distinct` different ones if it is above 0.
inline Rule integers(std::int64_t low, std::int64_t high, double distinct = 0) {
  return ValueRule{ValueRule::Integers{low, high, static_cast<std::int64_t>(distinct)}};
}
/// Monotone from 0 to at most `high`; the last is `high` if include_last. No two that follow each
/// other are further apart than `longest`, if it is above 0 and the mean allows.
inline Rule offsets(std::int64_t high, bool include_last, std::int64_t longest = 0) {
  return ValueRule{ValueRule::Offsets{high, include_last, longest}};
}
inline Rule lengths(std::vector<ValueRule::Segment> segments) {
  return ValueRule{ValueRule::Lengths{std::move(segments)}};
}
inline Rule arange(std::int64_t first, std::int64_t step) {
  return ValueRule{ValueRule::Arange{.start = first, .step = step}};
}
/// True (or 1) with a probability.
inline Rule bernoulli(double probability) {
  return ValueRule{ValueRule::Bernoulli{probability}};
}
/// Exactly `count` elements true (or 1), spread at random.
inline Rule mask(std::int64_t count) {
  return ValueRule{ValueRule::Mask{count}};
}
/// Class numbers below `classes`, or `ignored` with a probability.
inline Rule targets(std::int64_t classes, std::int64_t ignored, double probability) {
  return ValueRule{ValueRule::Targets{classes, ignored, probability}};
}
/// Integers from [low, high) that repeat as often as in the original.
inline Rule reuse(std::int64_t low, std::int64_t high, std::vector<et_schema::ReuseBin> bins,
                  std::int64_t run = 1, bool sorted = false) {
  return ValueRule{ValueRule::ReusedIntegers{low, high, {std::move(bins), run, sorted}}};
}
/// Symmetric, positive definite matrices of `rows` rows with `diagonal` on the diagonal.
inline Rule dominant(double diagonal, std::int64_t rows) {
  return ValueRule{ValueRule::Dominant{.rows = rows, .diagonal = diagonal}};
}

}  // namespace bench
