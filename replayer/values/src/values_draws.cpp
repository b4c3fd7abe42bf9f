#include "values_draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "et_schema/support/assert.h"
#include "et_schema/support/error.h"
#include "values_bits.h"

namespace understudy::replayer {
namespace {

using et_schema::ValueRule;
using et_schema::ValueRuleKind;
/// Close to a standard normal: the sum of four uniform 16-bit numbers. It is bounded by 3.47, needs
/// no logarithm, whose last bits differ between platforms, and is exact up to one rounding.
constexpr double to_normal(std::uint64_t bits) {
  constexpr std::int64_t kTwiceMean = 4 * 65535;
  constexpr double kScale = 1 / 75674.46;  // 1 / (2 sqrt(4 (65536² − 1) / 12))
  const std::uint64_t sum =
      (bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) + ((bits >> 32) & 0xFFFF) + (bits >> 48);
  return static_cast<double>(2 * static_cast<std::int64_t>(sum) - kTwiceMean) * kScale;
}

void check_lengths(const ValueRule& rule, std::int64_t numel) {
  std::int64_t covered = 0;
  for (const ValueRule::Segment& segment : rule.segments) {
    if (segment.count < 0 || segment.sum < 0 || (segment.count == 0 && segment.sum > 0)) {
      refuse_rule(rule, "segments with lengths for their sum",
                  fmt::format("{} lengths with sum {}", segment.count, segment.sum));
    }
    if (segment.count > numel - covered) {
      refuse_rule(rule, fmt::format("segments of {} lengths in all", numel), "more");
    }
    covered += segment.count;
  }
  if (covered != numel) {
    refuse_rule(rule, fmt::format("segments of {} lengths in all", numel), std::to_string(covered));
  }
}

void check(const ValueRule& rule, std::int64_t numel) {
  const auto probability = [&rule] {
    if (!(rule.a >= 0 && rule.a <= 1)) {
      refuse_rule(rule, "a probability from 0 to 1", fmt::format("{}", rule.a));
    }
  };
  switch (rule.kind) {
    case ValueRuleKind::kUniform:
      if (!(rule.a <= rule.b) || !std::isfinite(rule.b - rule.a)) {
        refuse_rule(rule, "finite bounds a <= b", fmt::format("[{}, {})", rule.a, rule.b));
      }
      return;
    case ValueRuleKind::kNormal:
      if (!std::isfinite(rule.a) || !std::isfinite(rule.b) || rule.b < 0) {
        refuse_rule(rule, "a finite mean and a deviation that is not negative",
                    fmt::format("mean {}, deviation {}", rule.a, rule.b));
      }
      return;
    case ValueRuleKind::kIntegers:
      if (rule.high <= rule.low) {
        refuse_rule(rule, "integers from a range that is not empty",
                    fmt::format("[{}, {})", rule.low, rule.high));
      }
      return;
    case ValueRuleKind::kOffsets:
      if (rule.high < 0) {
        refuse_rule(rule, "offsets up to a number of indices", std::to_string(rule.high));
      }
      return;
    case ValueRuleKind::kLengths:
      return check_lengths(rule, numel);
    case ValueRuleKind::kBernoulli:
      return probability();
    case ValueRuleKind::kMask:
      if (rule.high < 0 || rule.high > numel) {
        refuse_rule(rule, fmt::format("a mask with 0 to {} elements set", numel),
                    std::to_string(rule.high));
      }
      return;
    case ValueRuleKind::kTargets:
      if (rule.high <= 0) {
        refuse_rule(rule, "at least one class", std::to_string(rule.high));
      }
      return probability();
    case ValueRuleKind::kReuse:
      if (const auto problem = et_schema::find_problem(rule.reuse)) {
        refuse_rule(rule, problem->expected, problem->got);
      }
      return;
    case ValueRuleKind::kDominant:
      if (rule.high < 1 || numel % rule.high != 0 || (numel / rule.high) % rule.high != 0) {
        refuse_rule(rule, fmt::format("square matrices in {} elements", numel),
                    fmt::format("{} rows", rule.high));
      }
      return;
    case ValueRuleKind::kZeros:
    case ValueRuleKind::kConstant:
    case ValueRuleKind::kArange:
      return;
  }
}

}  // namespace

void refuse_rule(const ValueRule& rule, const std::string& expected, const std::string& got) {
  et_schema::ErrorContext context;
  context.field = rule.why.empty() ? "value" : fmt::format("value ({})", rule.why);
  context.expected = expected;
  context.got = got;
  context.hint = "generate the benchmark again from its trace";
  throw et_schema::bad_input("a value rule that no content can fulfil", context);
}

Draws::Draws(const ValueRule& rule, ValueKey key, std::int64_t numel)
    : rule_(rule), key_(mix(mix(key.seed + kGolden) ^ (key.stream * kGolden))), numel_(numel) {
  check(rule, numel);
  if (rule.kind == ValueRuleKind::kLengths) {
    std::int64_t start = 0;
    for (const ValueRule::Segment& segment : rule.segments) {
      segment_starts_.push_back(start);
      start += segment.count;
    }
  } else if (rule.kind == ValueRuleKind::kReuse) {
    reuse_.emplace(rule.reuse, key_, numel);
  }
}

bool Draws::integral() const {
  return rule_.kind != ValueRuleKind::kConstant && rule_.kind != ValueRuleKind::kUniform &&
         rule_.kind != ValueRuleKind::kNormal && rule_.kind != ValueRuleKind::kDominant;
}

void Draws::reals(std::int64_t first, std::span<double> out) const {
  const double a = rule_.a;
  const double b = rule_.b;
  if (rule_.kind == ValueRuleKind::kConstant) {
    std::fill(out.begin(), out.end(), a);
    return;
  }
  UNDERSTUDY_ASSERT(!integral());
  if (rule_.kind == ValueRuleKind::kNormal) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = a + b * to_normal(bits(first + static_cast<std::int64_t>(i)));
    }
    return;
  }
  if (rule_.kind == ValueRuleKind::kDominant) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = dominant(first + static_cast<std::int64_t>(i));
    }
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = a + (b - a) * to_unit(bits(first + static_cast<std::int64_t>(i)));
  }
}

/// One of `a` different numbers below `range`, each of which some element has.
std::uint64_t Draws::one_of_few(std::int64_t element, std::uint64_t range) const {
  const std::uint64_t few =
      std::min({static_cast<std::uint64_t>(rule_.a), range,
                static_cast<std::uint64_t>(std::max<std::int64_t>(numel_, 1))});
  const auto place = static_cast<std::uint64_t>(shuffled(element));
  const std::uint64_t chosen =
      place < few ? place : static_cast<std::uint64_t>(to_range(bits(element), few));
  return chosen * (range / few);
}

void Draws::integers(std::int64_t first, std::span<std::int64_t> out) const {
  if (rule_.kind == ValueRuleKind::kLengths) {
    return lengths(first, out);
  }
  const std::uint64_t range =
      static_cast<std::uint64_t>(rule_.high) - static_cast<std::uint64_t>(rule_.low);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t element = first + static_cast<std::int64_t>(i);
    switch (rule_.kind) {
      case ValueRuleKind::kZeros:
        out[i] = 0;
        break;
      case ValueRuleKind::kIntegers:
        // Unsigned addition: the range may be wider than a signed number.
        out[i] = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(rule_.low) +
            (rule_.a > 0 ? one_of_few(element, range)
                         : static_cast<std::uint64_t>(to_range(bits(element), range))));
        break;
      case ValueRuleKind::kOffsets:
        out[i] = offset(element);
        break;
      case ValueRuleKind::kArange:
        out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(rule_.low) +
                                           static_cast<std::uint64_t>(element) *
                                               static_cast<std::uint64_t>(rule_.high));
        break;
      case ValueRuleKind::kBernoulli:
        out[i] = happens(element) ? 1 : 0;
        break;
      case ValueRuleKind::kMask:
        out[i] = shuffled(element) < rule_.high ? 1 : 0;
        break;
      case ValueRuleKind::kTargets:
        out[i] = happens(element) ? rule_.low
                                  : to_range(mix(bits(element) + kGolden),
                                             static_cast<std::uint64_t>(rule_.high));
        break;
      case ValueRuleKind::kReuse:
        out[i] = reuse_->at(element);
        break;
      case ValueRuleKind::kConstant:
      case ValueRuleKind::kUniform:
      case ValueRuleKind::kNormal:
      case ValueRuleKind::kLengths:
      case ValueRuleKind::kDominant:
        UNDERSTUDY_ASSERT(!"a rule of whole numbers");
    }
  }
}

std::uint64_t Draws::bits(std::int64_t element) const {
  return mix(key_ + (static_cast<std::uint64_t>(element) + 1) * kGolden);
}

bool Draws::happens(std::int64_t element) const {
  return to_unit(bits(element)) < rule_.a;
}

std::int64_t Draws::boundary(std::int64_t first_element, std::int64_t i, std::int64_t count,
                             std::int64_t sum, std::int64_t longest) const {
  if (i == 0 || i >= count) {
    return i == 0 ? 0 : sum;
  }
  const std::int64_t low = scaled(i, sum, count);
  std::int64_t room = scaled(i + 1, sum, count) - low;
  if (longest > 0) {
    // A piece ends at most a mean, rounded up, and the room behind where it begins.
    room = std::clamp<std::int64_t>(longest - (sum + count - 1) / count, 0, room);
  }
  return low + to_range(bits(first_element + i), static_cast<std::uint64_t>(room) + 1);
}

std::int64_t Draws::offset(std::int64_t element) const {
  return boundary(0, element, rule_.include_last ? numel_ - 1 : numel_, rule_.high, rule_.low);
}

void Draws::lengths(std::int64_t first, std::span<std::int64_t> out) const {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t element = first + static_cast<std::int64_t>(i);
    // The last segment that starts at or before the element: empty ones before it have no elements.
    const auto next = std::upper_bound(segment_starts_.begin(), segment_starts_.end(), element);
    const auto index = static_cast<std::size_t>(next - segment_starts_.begin()) - 1;
    const ValueRule::Segment& segment = rule_.segments[index];
    const std::int64_t start = segment_starts_[index];
    const std::int64_t place = element - start;
    out[i] = boundary(start, place + 1, segment.count, segment.sum) -
             boundary(start, place, segment.count, segment.sum);
  }
}

std::int64_t Draws::shuffled(std::int64_t element) const {
  return permuted(element, numel_, key_);
}

/// Element (row, column) of the matrix is that of (column, row).
double Draws::dominant(std::int64_t element) const {
  const std::int64_t size = rule_.high;
  const std::int64_t row = element / size % size;
  const std::int64_t column = element % size;
  if (row == column) {
    return rule_.a;
  }
  const std::int64_t matrix = element - element % size - row * size;
  const std::int64_t mirrored = matrix + std::min(row, column) * size + std::max(row, column);
  // A row's other elements add up to less than half of the diagonal's.
  return rule_.a * (to_unit(bits(mirrored)) - 0.5) / static_cast<double>(size);
}

}  // namespace understudy::replayer
