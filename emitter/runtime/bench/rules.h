#pragma once

// The rules for what tensors hold before the step, as the step's source writes them.

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bench {

/// `numbers` different numbers occur `times` times each.
struct Repeat {
  std::int64_t times;
  std::int64_t numbers;
};
/// How often the numbers in [low, high) occur.
struct ReuseBin {
  std::int64_t low;
  std::int64_t high;
  std::vector<Repeat> repeats;
};
/// `count` lengths that add up to `sum`.
struct Segment {
  std::int64_t count;
  std::int64_t sum;
};

struct Rule {
  enum class Kind {
    kByShape,
    kZeros,
    kConstant,
    kUniform,
    kNormal,
    kIntegers,
    kOffsets,
    kLengths,
    kArange,
    kBernoulli,
    kMask,
    kTargets,
    kReuse,
    kDominant
  };
  Kind kind = Kind::kByShape;
  double a = 0;
  double b = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool include_last = false;
  std::vector<Segment> segments = {};
  std::vector<ReuseBin> bins = {};
  std::int64_t run = 1;
  bool sorted = false;
};

/// By dtype and shape: weights by their fan-in, scales in [0.5, 1), integers 0.
inline Rule by_shape() {
  return {};
}
inline Rule zeros() {
  return {.kind = Rule::Kind::kZeros};
}
inline Rule constant(double value) {
  return {.kind = Rule::Kind::kConstant, .a = value};
}
/// Floats from [low, high).
inline Rule uniform(double low, double high) {
  return {.kind = Rule::Kind::kUniform, .a = low, .b = high};
}
inline Rule normal(double mean, double deviation) {
  return {.kind = Rule::Kind::kNormal, .a = mean, .b = deviation};
}
/// Integers from [low, high); `distinct` different ones if it is above 0.
inline Rule integers(std::int64_t low, std::int64_t high, double distinct = 0) {
  return {.kind = Rule::Kind::kIntegers, .a = distinct, .low = low, .high = high};
}
/// Monotone from 0 to at most `high`; the last is `high` if include_last. No two that follow each
/// other are further apart than `longest`, if it is above 0 and the mean allows.
inline Rule offsets(std::int64_t high, bool include_last, std::int64_t longest = 0) {
  return {.kind = Rule::Kind::kOffsets, .low = longest, .high = high, .include_last = include_last};
}
inline Rule lengths(std::vector<Segment> segments) {
  return {.kind = Rule::Kind::kLengths, .segments = std::move(segments)};
}
inline Rule arange(std::int64_t first, std::int64_t step) {
  return {.kind = Rule::Kind::kArange, .low = first, .high = step};
}
/// True (or 1) with a probability.
inline Rule bernoulli(double probability) {
  return {.kind = Rule::Kind::kBernoulli, .a = probability};
}
/// Exactly `count` elements true (or 1), spread at random.
inline Rule mask(std::int64_t count) {
  return {.kind = Rule::Kind::kMask, .high = count};
}
/// Class numbers below `classes`, or `ignored` with a probability.
inline Rule targets(std::int64_t classes, std::int64_t ignored, double probability) {
  return {.kind = Rule::Kind::kTargets, .a = probability, .low = ignored, .high = classes};
}
/// Integers from [low, high) that repeat as often as in the original.
inline Rule reuse(std::int64_t low, std::int64_t high, std::vector<ReuseBin> bins,
                  std::int64_t run = 1, bool sorted = false) {
  return {.kind = Rule::Kind::kReuse,
          .low = low,
          .high = high,
          .bins = std::move(bins),
          .run = run,
          .sorted = sorted};
}
/// Symmetric, positive definite matrices of `rows` rows with `diagonal` on the diagonal.
inline Rule dominant(double diagonal, std::int64_t rows) {
  return {.kind = Rule::Kind::kDominant, .a = diagonal, .high = rows};
}

/// The rule of a tensor that has none, chosen so that long chains of operators stay finite.
inline Rule rule_by_shape(at::ScalarType dtype, at::IntArrayRef sizes) {
  const bool floating = at::isFloatingType(dtype) || at::isComplexType(dtype);
  if (dtype == at::kBool || sizes.empty()) {
    return constant(1);
  }
  if (!floating) {
    return zeros();
  }
  if (sizes.size() == 1) {
    return sizes[0] > 65536 ? normal(0, 1.0 / 64) : uniform(0.5, 1);
  }
  const at::IntArrayRef spatial = sizes.slice(2);
  const bool kernel = !spatial.empty() && std::all_of(spatial.begin(), spatial.end(),
                                                      [](std::int64_t size) { return size <= 11; });
  std::int64_t fan_in = kernel ? 1 : sizes.back();
  for (std::size_t i = 1; kernel && i < sizes.size(); ++i) {
    fan_in *= std::max<std::int64_t>(sizes[i], 1);
  }
  const auto inputs = static_cast<double>(std::max<std::int64_t>(fan_in, 1));
  return normal(0, std::clamp(1 / std::sqrt(inputs), 1.0 / 64, 1.0));
}

}  // namespace bench
