#pragma once

// What tensors hold before the step: rules, and the numbers that they give. Element i of a tensor
// depends on (seed, stream, i) alone.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "random.h"

namespace bench {

/// So many different numbers occur so many times each.
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
/// Integers from [low, high) that come again as often as in the original.
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

/// What a tensor of which no rule speaks holds, so that long chains of operators stay finite.
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

/// The elements of an index tensor whose numbers come again as often as a reuse rule says.
class ReuseDraws {
 public:
  ReuseDraws(const Rule& rule, std::uint64_t key, std::int64_t numel)
      : rule_(rule), key_(key), runs_((numel + rule.run - 1) / rule.run) {
    for (std::size_t bin = 0; bin < rule.bins.size(); ++bin) {
      std::int64_t ordinal = 0;
      for (const Repeat& repeat : rule.bins[bin].repeats) {
        groups_.push_back({draws_, repeat.times, ordinal, bin});
        draws_ += repeat.times * repeat.numbers;
        ordinal += repeat.numbers;
      }
    }
    if (rule.sorted) {
      const std::int64_t shown = std::min(draws_, std::max<std::int64_t>(runs_, 1));
      for (std::int64_t i = 0; i < shown; ++i) {
        in_order_.push_back(number(scaled(i, draws_, shown)));
      }
      std::sort(in_order_.begin(), in_order_.end());
    }
  }

  [[nodiscard]] std::int64_t at(std::int64_t element) const {
    const std::int64_t draw = draw_of(element / rule_.run);
    return rule_.sorted ? in_order_[static_cast<std::size_t>(draw)] : number(draw);
  }

 private:
  struct Group {
    std::int64_t first_draw;
    std::int64_t times;
    std::int64_t first_ordinal;
    std::size_t bin;
  };

  [[nodiscard]] std::int64_t draw_of(std::int64_t run) const {
    if (rule_.sorted) {
      const auto listed = static_cast<std::int64_t>(in_order_.size());
      return runs_ % listed == 0 ? run % listed : scaled(run, listed, runs_);
    }
    if (runs_ % draws_ == 0) {
      return permuted(run % draws_, draws_, key_);
    }
    return scaled(permuted(run, runs_, key_), draws_, runs_);
  }

  [[nodiscard]] std::int64_t number(std::int64_t draw) const {
    const auto next =
        std::upper_bound(groups_.begin(), groups_.end(), draw,
                         [](std::int64_t d, const Group& g) { return d < g.first_draw; });
    const Group& group = *std::prev(next);
    const ReuseBin& bin = rule_.bins[group.bin];
    const std::int64_t ordinal = group.first_ordinal + (draw - group.first_draw) / group.times;
    return bin.low + permuted(ordinal, bin.high - bin.low, mix(key_ + (group.bin + 1) * kGolden));
  }

  const Rule& rule_;
  std::uint64_t key_;
  std::int64_t runs_;
  std::int64_t draws_ = 0;
  std::vector<Group> groups_;
  std::vector<std::int64_t> in_order_;
};

/// The numbers of one rule over a tensor of `numel` elements.
class Draws {
 public:
  Draws(const Rule& rule, std::uint64_t seed, std::uint64_t stream, std::int64_t numel)
      : rule_(rule), key_(mix(mix(seed + kGolden) ^ (stream * kGolden))), numel_(numel) {
    std::int64_t start = 0;
    for (const Segment& segment : rule.segments) {
      starts_.push_back(start);
      start += segment.count;
    }
    if (rule.kind == Rule::Kind::kReuse) {
      reuse_.emplace(rule, key_, numel);
    }
  }

  [[nodiscard]] bool integral() const {
    return rule_.kind != Rule::Kind::kConstant && rule_.kind != Rule::Kind::kUniform &&
           rule_.kind != Rule::Kind::kNormal && rule_.kind != Rule::Kind::kDominant;
  }

  [[nodiscard]] double real(std::int64_t element) const {
    switch (rule_.kind) {
      case Rule::Kind::kConstant:
        return rule_.a;
      case Rule::Kind::kNormal:
        return rule_.a + rule_.b * to_normal(bits(element));
      case Rule::Kind::kDominant:
        return matrix_element(element);
      default:
        return rule_.a + (rule_.b - rule_.a) * to_unit(bits(element));
    }
  }

  [[nodiscard]] std::int64_t integer(std::int64_t element) const {
    switch (rule_.kind) {
      case Rule::Kind::kIntegers:
        return add(rule_.low, rule_.a > 0
                                  ? one_of_few(element)
                                  : static_cast<std::uint64_t>(to_range(bits(element), range())));
      case Rule::Kind::kOffsets:
        return boundary(0, element, rule_.include_last ? numel_ - 1 : numel_, rule_.high,
                        rule_.low);
      case Rule::Kind::kLengths:
        return length(element);
      case Rule::Kind::kArange:
        return add(rule_.low,
                   static_cast<std::uint64_t>(element) * static_cast<std::uint64_t>(rule_.high));
      case Rule::Kind::kBernoulli:
        return happens(element) ? 1 : 0;
      case Rule::Kind::kMask:
        return permuted(element, numel_, key_) < rule_.high ? 1 : 0;
      case Rule::Kind::kTargets:
        return happens(element)
                   ? rule_.low
                   : to_range(mix(bits(element) + kGolden), static_cast<std::uint64_t>(rule_.high));
      case Rule::Kind::kReuse:
        return reuse_->at(element);
      default:
        return 0;
    }
  }

 private:
  static std::int64_t add(std::int64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + b);
  }
  [[nodiscard]] std::uint64_t range() const {
    return static_cast<std::uint64_t>(rule_.high) - static_cast<std::uint64_t>(rule_.low);
  }
  [[nodiscard]] std::uint64_t bits(std::int64_t element) const {
    return mix(key_ + (static_cast<std::uint64_t>(element) + 1) * kGolden);
  }
  [[nodiscard]] bool happens(std::int64_t element) const {
    return to_unit(bits(element)) < rule_.a;
  }

  /// One of `a` different numbers below the range, each of which some element has.
  [[nodiscard]] std::uint64_t one_of_few(std::int64_t element) const {
    const std::uint64_t few =
        std::min({static_cast<std::uint64_t>(rule_.a), range(),
                  static_cast<std::uint64_t>(std::max<std::int64_t>(numel_, 1))});
    const auto place = static_cast<std::uint64_t>(permuted(element, numel_, key_));
    const std::uint64_t chosen =
        place < few ? place : static_cast<std::uint64_t>(to_range(bits(element), few));
    return chosen * (range() / few);
  }

  /// Boundary `i` of `count` random pieces of [0, sum].
  [[nodiscard]] std::int64_t boundary(std::int64_t first_element, std::int64_t i,
                                      std::int64_t count, std::int64_t sum,
                                      std::int64_t longest = 0) const {
    if (i == 0 || i >= count) {
      return i == 0 ? 0 : sum;
    }
    const std::int64_t low = scaled(i, sum, count);
    std::int64_t room = scaled(i + 1, sum, count) - low;
    if (longest > 0) {
      room = std::clamp<std::int64_t>(longest - (sum + count - 1) / count, 0, room);
    }
    return low + to_range(bits(first_element + i), static_cast<std::uint64_t>(room) + 1);
  }

  [[nodiscard]] std::int64_t length(std::int64_t element) const {
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), element);
    const auto index = static_cast<std::size_t>(next - starts_.begin()) - 1;
    const Segment& segment = rule_.segments[index];
    const std::int64_t start = starts_[index];
    const std::int64_t place = element - start;
    return boundary(start, place + 1, segment.count, segment.sum) -
           boundary(start, place, segment.count, segment.sum);
  }

  [[nodiscard]] double matrix_element(std::int64_t element) const {
    const std::int64_t size = rule_.high;
    const std::int64_t row = element / size % size;
    const std::int64_t column = element % size;
    if (row == column) {
      return rule_.a;
    }
    const std::int64_t matrix = element - element % size - row * size;
    const std::int64_t mirrored = matrix + std::min(row, column) * size + std::max(row, column);
    return rule_.a * (to_unit(bits(mirrored)) - 0.5) / static_cast<double>(size);
  }

  const Rule& rule_;
  std::uint64_t key_;
  std::int64_t numel_;
  std::vector<std::int64_t> starts_;
  std::optional<ReuseDraws> reuse_;
};

/// Numbers beyond a floating type's range become its largest, subnormal ones 0.
template <typename T>
class Rounding {
 public:
  explicit Rounding(const Rule& rule) {
    const auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    const auto largest = static_cast<double>(std::numeric_limits<T>::max());
    smallest_ = static_cast<double>(std::numeric_limits<T>::min());
    const bool infinite = rule.kind == Rule::Kind::kConstant && std::isinf(rule.a);
    highest_ = infinite ? rule.a : largest;
    lowest_ = infinite ? rule.a : -largest;
    if (rule.kind == Rule::Kind::kUniform && rule.a < rule.b) {
      // Rounding must not leave [a, b).
      const double below = rule.b - std::max(std::abs(rule.b) * epsilon, smallest_);
      highest_ = std::min(highest_, std::max(below, rule.a));
    }
  }
  [[nodiscard]] T operator()(double value) const {
    const double bounded = std::min(std::max(value, lowest_), highest_);
    const double normal = std::abs(bounded) < smallest_ ? 0 : bounded;
    if constexpr (std::is_same_v<T, double>) {
      return normal;
    } else {
      return static_cast<T>(static_cast<float>(normal));
    }
  }

 private:
  double lowest_ = 0;
  double highest_ = 0;
  double smallest_ = 0;
};

/// Elements first, first + 1, … at `data`.
template <typename T>
void store(const Draws& draws, const Rule& rule, T* data, std::int64_t first, std::int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = first + i;
      const double whole = draws.integral() ? 0 : std::floor(draws.real(at));
      const std::int64_t number =
          draws.integral() ? draws.integer(at) : static_cast<std::int64_t>(whole);
      if constexpr (std::is_same_v<T, bool>) {
        data[i] = draws.integral() ? number != 0 : draws.real(at) != 0;
      } else {
        TORCH_CHECK(std::in_range<T>(number), "a value rule gives ", number, ", which ",
                    c10::CppTypeToScalarType<T>::value, " cannot hold");
        data[i] = static_cast<T>(number);
      }
    }
  } else {
    const Rounding<T> rounded(rule);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = first + i;
      data[i] = rounded(draws.integral() ? static_cast<double>(draws.integer(at)) : draws.real(at));
    }
  }
}

inline void store(const Draws& draws, const Rule& rule, at::ScalarType dtype, void* data,
                  std::int64_t first, std::int64_t count) {
  const auto as = [&]<typename T>(std::int64_t parts) {
    store(draws, rule, static_cast<T*>(data), first * parts, count * parts);
  };
  switch (dtype) {
    case at::kByte:
      return as.operator()<std::uint8_t>(1);
    case at::kChar:
      return as.operator()<std::int8_t>(1);
    case at::kShort:
      return as.operator()<std::int16_t>(1);
    case at::kInt:
      return as.operator()<std::int32_t>(1);
    case at::kLong:
      return as.operator()<std::int64_t>(1);
    case at::kUInt16:
      return as.operator()<std::uint16_t>(1);
    case at::kUInt32:
      return as.operator()<std::uint32_t>(1);
    case at::kUInt64:
      return as.operator()<std::uint64_t>(1);
    case at::kBool:
      return as.operator()<bool>(1);
    case at::kHalf:
      return as.operator()<c10::Half>(1);
    case at::kBFloat16:
      return as.operator()<c10::BFloat16>(1);
    case at::kFloat:
      return as.operator()<float>(1);
    case at::kDouble:
      return as.operator()<double>(1);
    case at::kFloat8_e5m2:
      return as.operator()<c10::Float8_e5m2>(1);
    case at::kFloat8_e4m3fn:
      return as.operator()<c10::Float8_e4m3fn>(1);
    case at::kComplexHalf:
      return as.operator()<c10::Half>(2);
    case at::kComplexFloat:
      return as.operator()<float>(2);
    case at::kComplexDouble:
      return as.operator()<double>(2);
    default:
      TORCH_CHECK(false, "no values of type ", dtype);
  }
}

/// The tensor without the dimensions that repeat elements, so that each is written once.
inline at::Tensor without_repeats(at::Tensor tensor) {
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (tensor.stride(dim) == 0 && tensor.size(dim) > 1) {
      tensor = tensor.narrow(dim, 0, 1);
    }
  }
  return tensor;
}

/// Fills a tensor, whatever its strides; element i counts in row-major order.
inline void fill(const at::Tensor& tensor, const Rule& asked, std::uint64_t seed,
                 std::uint64_t stream) {
  if (tensor.numel() == 0 || tensor.is_meta()) {
    return;
  }
  const Rule rule = asked.kind == Rule::Kind::kByShape
                        ? rule_by_shape(tensor.scalar_type(), tensor.sizes())
                        : asked;
  const at::Tensor target = without_repeats(tensor);
  const Draws draws(rule, seed, stream, target.numel());
  if (target.is_cpu() && target.is_contiguous()) {
    store(draws, rule, target.scalar_type(), target.data_ptr(), 0, target.numel());
    return;
  }
  const at::Tensor made = at::empty(target.sizes(), target.options().device(at::kCPU));
  store(draws, rule, made.scalar_type(), made.data_ptr(), 0, made.numel());
  target.copy_(made);
}

}  // namespace bench
