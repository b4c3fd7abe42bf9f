#include "values_draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>

#include "et_schema/support/assert.h"
#include "et_schema/support/error.h"
#include "values_bits.h"

namespace understudy::replayer {
namespace {

using et_schema::ValueRule;

/// Close to a standard normal: the sum of four uniform 16-bit numbers. It is bounded by 3.47, needs
/// no logarithm, whose last bits differ between platforms, and is exact up to one rounding.
constexpr double to_normal(std::uint64_t bits) {
  constexpr std::int64_t kTwiceMean = 4 * 65535;
  constexpr double kScale = 1 / 75674.46;  // 1 / (2 sqrt(4 (65536² − 1) / 12))
  const std::uint64_t sum =
      (bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) + ((bits >> 32) & 0xFFFF) + (bits >> 48);
  return static_cast<double>(2 * static_cast<std::int64_t>(sum) - kTwiceMean) * kScale;
}

/// Throws where no content of `numel` elements can be what a rule says.
class Check {
 public:
  Check(const ValueRule& rule, std::int64_t numel) : rule_(rule), numel_(numel) {}

  void operator()(const ValueRule::Zeros& /*rule*/) const {}
  void operator()(const ValueRule::Constant& /*rule*/) const {}
  void operator()(const ValueRule::Uniform& rule) const {
    if (!(rule.low <= rule.high) || !std::isfinite(rule.high - rule.low)) {
      refuse("finite bounds a <= b", fmt::format("[{}, {})", rule.low, rule.high));
    }
  }
  void operator()(const ValueRule::Normal& rule) const {
    if (!std::isfinite(rule.mean) || !std::isfinite(rule.deviation) || rule.deviation < 0) {
      refuse("a finite mean and a deviation that is not negative",
             fmt::format("mean {}, deviation {}", rule.mean, rule.deviation));
    }
  }
  void operator()(const ValueRule::Integers& rule) const {
    if (rule.high <= rule.low) {
      refuse("integers from a range that is not empty",
             fmt::format("[{}, {})", rule.low, rule.high));
    }
  }
  void operator()(const ValueRule::Offsets& rule) const {
    if (rule.end < 0) {
      refuse("offsets up to a number of indices", std::to_string(rule.end));
    }
  }
  void operator()(const ValueRule::Lengths& rule) const {
    const std::string all = fmt::format("segments of {} lengths in all", numel_);
    std::int64_t covered = 0;
    for (const ValueRule::Segment& segment : rule.segments) {
      if (segment.count < 0 || segment.sum < 0 || (segment.count == 0 && segment.sum > 0)) {
        refuse("segments with lengths for their sum",
               fmt::format("{} lengths with sum {}", segment.count, segment.sum));
      }
      if (segment.count > numel_ - covered) {
        refuse(all, "more");
      }
      covered += segment.count;
    }
    if (covered != numel_) {
      refuse(all, std::to_string(covered));
    }
  }
  void operator()(const ValueRule::Arange& /*rule*/) const {}
  void operator()(const ValueRule::Bernoulli& rule) const { check_probability(rule.probability); }
  void operator()(const ValueRule::Mask& rule) const {
    if (rule.count < 0 || rule.count > numel_) {
      refuse(fmt::format("a mask with 0 to {} elements set", numel_), std::to_string(rule.count));
    }
  }
  void operator()(const ValueRule::Targets& rule) const {
    if (rule.classes <= 0) {
      refuse("at least one class", std::to_string(rule.classes));
    }
    check_probability(rule.ignored_share);
  }
  void operator()(const ValueRule::ReusedIntegers& rule) const {
    if (const auto problem = et_schema::find_problem(rule.reuse)) {
      refuse(problem->expected, problem->got);
    }
  }
  void operator()(const ValueRule::Dominant& rule) const {
    if (rule.rows < 1 || numel_ % rule.rows != 0 || (numel_ / rule.rows) % rule.rows != 0) {
      refuse(fmt::format("square matrices in {} elements", numel_),
             fmt::format("{} rows", rule.rows));
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& got) const {
    refuse_rule(rule_, expected, got);
  }
  void check_probability(double probability) const {
    if (!(probability >= 0 && probability <= 1)) {
      refuse("a probability from 0 to 1", fmt::format("{}", probability));
    }
  }

  const ValueRule& rule_;
  std::int64_t numel_;
};

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
  std::visit(Check(rule, numel), rule.kind);
  if (const auto* lengths = rule.as<ValueRule::Lengths>()) {
    std::int64_t start = 0;
    for (const ValueRule::Segment& segment : lengths->segments) {
      segment_starts_.push_back(start);
      start += segment.count;
    }
  } else if (const auto* reused = rule.as<ValueRule::ReusedIntegers>()) {
    reuse_.emplace(reused->reuse, key_, numel);
  }
}

// Inline: what follows calls one of them for each element.

inline std::uint64_t Draws::bits(std::int64_t element) const {
  return mix(key_ + (static_cast<std::uint64_t>(element) + 1) * kGolden);
}

inline bool Draws::happens(double probability, std::int64_t element) const {
  return to_unit(bits(element)) < probability;
}

inline std::int64_t Draws::draw(const ValueRule::Zeros& /*rule*/, std::int64_t /*element*/) const {
  return 0;
}

inline double Draws::draw(const ValueRule::Constant& rule, std::int64_t /*element*/) const {
  return rule.value;
}

inline double Draws::draw(const ValueRule::Uniform& rule, std::int64_t element) const {
  return rule.low + (rule.high - rule.low) * to_unit(bits(element));
}

inline double Draws::draw(const ValueRule::Normal& rule, std::int64_t element) const {
  return rule.mean + rule.deviation * to_normal(bits(element));
}

inline std::int64_t Draws::draw(const ValueRule::Integers& rule, std::int64_t element) const {
  // Unsigned: the range may be wider than a signed number.
  const auto low = static_cast<std::uint64_t>(rule.low);
  const std::uint64_t range = static_cast<std::uint64_t>(rule.high) - low;
  return static_cast<std::int64_t>(
      low + (rule.distinct > 0 ? one_of_few(rule.distinct, range, element)
                               : static_cast<std::uint64_t>(to_range(bits(element), range))));
}

inline std::int64_t Draws::draw(const ValueRule::Offsets& rule, std::int64_t element) const {
  return boundary(0, element, rule.include_last ? numel_ - 1 : numel_, rule.end, rule.longest);
}

inline std::int64_t Draws::draw(const ValueRule::Lengths& rule, std::int64_t element) const {
  // The last segment that starts at or before the element: empty ones before it have no elements.
  const auto next = std::upper_bound(segment_starts_.begin(), segment_starts_.end(), element);
  const auto index = static_cast<std::size_t>(next - segment_starts_.begin()) - 1;
  const ValueRule::Segment& segment = rule.segments[index];
  const std::int64_t start = segment_starts_[index];
  const std::int64_t place = element - start;
  return boundary(start, place + 1, segment.count, segment.sum) -
         boundary(start, place, segment.count, segment.sum);
}

inline std::int64_t Draws::draw(const ValueRule::Arange& rule, std::int64_t element) const {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(rule.start) +
                                   static_cast<std::uint64_t>(element) *
                                       static_cast<std::uint64_t>(rule.step));
}

inline std::int64_t Draws::draw(const ValueRule::Bernoulli& rule, std::int64_t element) const {
  return happens(rule.probability, element) ? 1 : 0;
}

inline std::int64_t Draws::draw(const ValueRule::Mask& rule, std::int64_t element) const {
  return shuffled(element) < rule.count ? 1 : 0;
}

inline std::int64_t Draws::draw(const ValueRule::Targets& rule, std::int64_t element) const {
  return happens(rule.ignored_share, element)
             ? rule.ignore_index
             : to_range(mix(bits(element) + kGolden), static_cast<std::uint64_t>(rule.classes));
}

inline std::int64_t Draws::draw(const ValueRule::ReusedIntegers& /*rule*/,
                                std::int64_t element) const {
  return reuse_->at(element);
}

inline double Draws::draw(const ValueRule::Dominant& rule, std::int64_t element) const {
  const std::int64_t size = rule.rows;
  const std::int64_t row = element / size % size;
  const std::int64_t column = element % size;
  if (row == column) {
    return rule.diagonal;
  }
  const std::int64_t matrix = element - element % size - row * size;
  const std::int64_t mirrored = matrix + std::min(row, column) * size + std::max(row, column);
  // A row's other elements add up to less than half of the diagonal's.
  return rule.diagonal * (to_unit(bits(mirrored)) - 0.5) / static_cast<double>(size);
}

std::uint64_t Draws::one_of_few(std::int64_t distinct, std::uint64_t range,
                                std::int64_t element) const {
  const std::uint64_t few =
      std::min({static_cast<std::uint64_t>(distinct), range,
                static_cast<std::uint64_t>(std::max<std::int64_t>(numel_, 1))});
  const auto place = static_cast<std::uint64_t>(shuffled(element));
  const std::uint64_t chosen =
      place < few ? place : static_cast<std::uint64_t>(to_range(bits(element), few));
  return chosen * (range / few);
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

std::int64_t Draws::shuffled(std::int64_t element) const {
  return permuted(element, numel_, key_);
}

bool Draws::integral() const {
  return std::visit(
      []<typename Kind>(const Kind&) { return std::is_same_v<Drawn<Kind>, std::int64_t>; },
      rule_.kind);
}

template <typename Number>
void Draws::draw_all(std::int64_t first, std::span<Number> out) const {
  std::visit(
      [&]<typename Kind>(const Kind& kind) {
        if constexpr (std::is_same_v<Drawn<Kind>, Number>) {
          // A copy, where that costs nothing: no element is written over what it is drawn by.
          constexpr bool kIsSmall = std::is_trivially_copyable_v<Kind>;
          const std::conditional_t<kIsSmall, Kind, const Kind&> rule = kind;
          for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] = draw(rule, first + static_cast<std::int64_t>(i));
          }
        } else {
          UNDERSTUDY_ASSERT(!"a rule of these numbers");
        }
      },
      rule_.kind);
}

void Draws::reals(std::int64_t first, std::span<double> out) const {
  draw_all(first, out);
}

void Draws::integers(std::int64_t first, std::span<std::int64_t> out) const {
  draw_all(first, out);
}

}  // namespace understudy::replayer
