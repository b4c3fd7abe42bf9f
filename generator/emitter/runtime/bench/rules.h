#pragma once

// Rules for the content of tensors before the step, in the notation of the step's source.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "et_schema/model/value_rule.h"

namespace bench {

namespace et_schema = understudy::et_schema;
using et_schema::ValueRule;

/// Empty: by dtype and shape.
using Rule = std::optional<ValueRule>;

/// By dtype and shape: weights scaled by their fan-in, scales in [0.5, 1), integers 0.
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
/// Integers from [low, high); if `distinct` > 0, that many different ones.
inline Rule integers(std::int64_t low, std::int64_t high, double distinct = 0) {
  return ValueRule{ValueRule::Integers{low, high, static_cast<std::int64_t>(distinct)}};
}
/// Ascending from 0 to at most `high`; if include_last, the last one is `high`. If `longest` > 0
/// and the mean allows it, successive numbers differ by at most `longest`.
inline Rule offsets(std::int64_t high, bool include_last, std::int64_t longest = 0) {
  return ValueRule{ValueRule::Offsets{high, include_last, longest}};
}
inline Rule lengths(std::vector<ValueRule::Segment> segments) {
  return ValueRule{ValueRule::Lengths{std::move(segments)}};
}
inline Rule arange(std::int64_t first, std::int64_t step) {
  return ValueRule{ValueRule::Arange{.start = first, .step = step}};
}
/// True (or 1) with the given probability.
inline Rule bernoulli(double probability) {
  return ValueRule{ValueRule::Bernoulli{probability}};
}
/// Exactly `count` elements are true (or 1), at random positions.
inline Rule mask(std::int64_t count) {
  return ValueRule{ValueRule::Mask{count}};
}
/// Class numbers below `classes`; with the given probability `ignored`.
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
