#pragma once

// The numbers that rules give, and their storing in tensors. Element i of a tensor depends on
// (seed, stream, i) alone.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "random.h"
#include "rules.h"

namespace bench {

/// The elements of an index tensor whose numbers repeat as often as a reuse rule says.
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
