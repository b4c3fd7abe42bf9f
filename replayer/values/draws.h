#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "et_schema/model/value_rule.h"
#include "replayer/values/random.h"

namespace understudy::replayer {

/// Elements of an index tensor whose numbers repeat as a Reuse specifies: a pure function of (key,
/// element). If the tensor's size is not a multiple of the draws, the proportions of the numbers
/// are kept.
class ReuseDraws {
 public:
  /// `reuse` must be valid (et_schema::find_problem).
  ReuseDraws(const et_schema::Reuse& reuse, std::uint64_t key, std::int64_t numel)
      : reuse_(reuse), key_(key), runs_((numel + reuse.run - 1) / reuse.run) {
    for (std::size_t bin = 0; bin < reuse.bins.size(); ++bin) {
      std::int64_t ordinal = 0;
      for (const et_schema::Repeat& repeat : reuse.bins[bin].repeats) {
        groups_.push_back({draws_, repeat.times, ordinal, bin});
        draws_ += repeat.times * repeat.numbers;
        ordinal += repeat.numbers;
      }
    }
    if (reuse.sorted) {
      // A tensor with fewer runs than draws shows that many of them, evenly spread.
      const std::int64_t shown = std::min(draws_, std::max<std::int64_t>(runs_, 1));
      in_order_.reserve(static_cast<std::size_t>(shown));
      for (std::int64_t i = 0; i < shown; ++i) {
        in_order_.push_back(number(scaled(i, draws_, shown)));
      }
      std::sort(in_order_.begin(), in_order_.end());
    }
  }

  [[nodiscard]] std::int64_t at(std::int64_t element) const {
    const std::int64_t draw = draw_of(element / reuse_.run);
    return reuse_.sorted ? in_order_[static_cast<std::size_t>(draw)] : number(draw);
  }

 private:
  /// Numbers of one bin that occur equally often.
  struct Group {
    std::int64_t first_draw = 0;
    std::int64_t times = 0;
    std::int64_t first_ordinal = 0;  ///< within its bin
    std::size_t bin = 0;
  };

  /// Repeats the list of draws until it fills the tensor. If it does not fill the tensor evenly,
  /// draws are omitted or repeated at equal distances.
  [[nodiscard]] std::int64_t draw_of(std::int64_t run) const {
    if (reuse_.sorted) {
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
    const et_schema::ReuseBin& bin = reuse_.bins[group.bin];
    const std::int64_t ordinal = group.first_ordinal + (draw - group.first_draw) / group.times;
    // Spreads frequent numbers over their bin.
    return bin.low + permuted(ordinal, bin.high - bin.low, mix(key_ + (group.bin + 1) * kGolden));
  }

  const et_schema::Reuse& reuse_;
  std::uint64_t key_;
  std::int64_t runs_;       ///< in the tensor
  std::int64_t draws_ = 0;  ///< in the list
  std::vector<Group> groups_;
  /// All draws in ascending order, for a sorted Reuse.
  std::vector<std::int64_t> in_order_;
};

/// The random numbers of a value rule over a tensor of `numel` elements: a pure function of (seed,
/// stream, element). Arithmetic is exactly rounded, so that all platforms draw the same numbers.
/// The rule must be satisfiable for `numel` elements and must outlive the draws.
class Draws {
 public:
  Draws(const et_schema::ValueRule& rule, ValueKey key, std::int64_t numel)
      : rule_(rule), key_(mix(mix(key.seed + kGolden) ^ (key.stream * kGolden))), numel_(numel) {
    if (const auto* lengths = rule.as<Rule::Lengths>()) {
      std::int64_t start = 0;
      for (const Rule::Segment& segment : lengths->segments) {
        segment_starts_.push_back(start);
        start += segment.count;
      }
    } else if (const auto* reused = rule.as<Rule::ReusedIntegers>()) {
      reuse_.emplace(reused->reuse, key_, numel);
    }
  }

  /// Returns true if the rule's numbers are integers: draw() then writes int64, otherwise double.
  [[nodiscard]] bool integral() const {
    return std::visit(
        []<typename Kind>(const Kind&) { return std::is_same_v<Drawn<Kind>, std::int64_t>; },
        rule_.kind);
  }

  /// Draws elements first, first + 1, … of the tensor.
  template <typename Number>
  void draw(std::int64_t first, std::span<Number> out) const {
    std::visit(
        [&]<typename Kind>(const Kind& kind) {
          if constexpr (std::is_same_v<Drawn<Kind>, Number>) {
            // A copy if it is cheap, so that the compiler knows that `out` does not alias the rule.
            constexpr bool kIsSmall = std::is_trivially_copyable_v<Kind>;
            const std::conditional_t<kIsSmall, Kind, const Kind&> rule = kind;
            for (std::size_t i = 0; i < out.size(); ++i) {
              out[i] = one(rule, first + static_cast<std::int64_t>(i));
            }
          } else {
            throw std::logic_error("draws of a rule that gives other numbers");
          }
        },
        rule_.kind);
  }

 private:
  using Rule = et_schema::ValueRule;

  // One element of each kind of rule: an integer or a double.
  [[nodiscard]] std::int64_t one(const Rule::Zeros& /*rule*/, std::int64_t /*element*/) const {
    return 0;
  }
  [[nodiscard]] double one(const Rule::Constant& rule, std::int64_t /*element*/) const {
    return rule.value;
  }
  [[nodiscard]] double one(const Rule::Uniform& rule, std::int64_t element) const {
    return rule.low + (rule.high - rule.low) * to_unit(bits(element));
  }
  [[nodiscard]] double one(const Rule::Normal& rule, std::int64_t element) const {
    return rule.mean + rule.deviation * to_normal(bits(element));
  }
  [[nodiscard]] std::int64_t one(const Rule::Integers& rule, std::int64_t element) const {
    // Unsigned, since the range may exceed a signed number.
    const auto low = static_cast<std::uint64_t>(rule.low);
    const std::uint64_t range = static_cast<std::uint64_t>(rule.high) - low;
    return static_cast<std::int64_t>(
        low + (rule.distinct > 0 ? one_of_few(rule.distinct, range, element)
                                 : static_cast<std::uint64_t>(to_range(bits(element), range))));
  }
  [[nodiscard]] std::int64_t one(const Rule::Offsets& rule, std::int64_t element) const {
    return boundary(0, element, rule.include_last ? numel_ - 1 : numel_, rule.end, rule.longest);
  }
  [[nodiscard]] std::int64_t one(const Rule::Lengths& rule, std::int64_t element) const {
    // The last segment that starts at or before the element; it is not empty.
    const auto next = std::upper_bound(segment_starts_.begin(), segment_starts_.end(), element);
    const auto index = static_cast<std::size_t>(next - segment_starts_.begin()) - 1;
    const Rule::Segment& segment = rule.segments[index];
    const std::int64_t start = segment_starts_[index];
    const std::int64_t place = element - start;
    return boundary(start, place + 1, segment.count, segment.sum) -
           boundary(start, place, segment.count, segment.sum);
  }
  [[nodiscard]] std::int64_t one(const Rule::Arange& rule, std::int64_t element) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(rule.start) +
                                     static_cast<std::uint64_t>(element) *
                                         static_cast<std::uint64_t>(rule.step));
  }
  [[nodiscard]] std::int64_t one(const Rule::Bernoulli& rule, std::int64_t element) const {
    return happens(rule.probability, element) ? 1 : 0;
  }
  [[nodiscard]] std::int64_t one(const Rule::Mask& rule, std::int64_t element) const {
    return shuffled(element) < rule.count ? 1 : 0;
  }
  [[nodiscard]] std::int64_t one(const Rule::Targets& rule, std::int64_t element) const {
    return happens(rule.ignored_share, element)
               ? rule.ignore_index
               : to_range(mix(bits(element) + kGolden), static_cast<std::uint64_t>(rule.classes));
  }
  [[nodiscard]] std::int64_t one(const Rule::ReusedIntegers& /*rule*/, std::int64_t element) const {
    return reuse_->at(element);
  }
  /// Element (row, column) of a matrix equals (column, row).
  [[nodiscard]] double one(const Rule::Dominant& rule, std::int64_t element) const {
    const std::int64_t size = rule.rows;
    const std::int64_t row = element / size % size;
    const std::int64_t column = element % size;
    if (row == column) {
      return rule.diagonal;
    }
    const std::int64_t matrix = element - element % size - row * size;
    const std::int64_t mirrored = matrix + std::min(row, column) * size + std::max(row, column);
    // A row's other elements add up to less than half of its diagonal element.
    return rule.diagonal * (to_unit(bits(mirrored)) - 0.5) / static_cast<double>(size);
  }

  template <typename Kind>
  using Drawn = decltype(std::declval<const Draws&>().one(std::declval<const Kind&>(), 0));

  [[nodiscard]] std::uint64_t bits(std::int64_t element) const {
    return mix(key_ + (static_cast<std::uint64_t>(element) + 1) * kGolden);
  }

  [[nodiscard]] bool happens(double probability, std::int64_t element) const {
    return to_unit(bits(element)) < probability;
  }

  /// Returns boundary `i` of `count` random pieces of [0, sum]; boundary 0 is 0, boundary `count`
  /// is sum. No piece exceeds `longest`, if it is above 0 and the mean allows it.
  [[nodiscard]] std::int64_t boundary(std::int64_t first_element, std::int64_t i,
                                      std::int64_t count, std::int64_t sum,
                                      std::int64_t longest = 0) const {
    if (i == 0 || i >= count) {
      return i == 0 ? 0 : sum;
    }
    const std::int64_t low = scaled(i, sum, count);
    std::int64_t room = scaled(i + 1, sum, count) - low;
    if (longest > 0) {
      // The length of a piece is at most the mean, rounded up, plus the room.
      room = std::clamp<std::int64_t>(longest - (sum + count - 1) / count, 0, room);
    }
    return low + to_range(bits(first_element + i), static_cast<std::uint64_t>(room) + 1);
  }

  /// Returns one of `distinct` numbers below `range`, each of which occurs in the tensor.
  [[nodiscard]] std::uint64_t one_of_few(std::int64_t distinct, std::uint64_t range,
                                         std::int64_t element) const {
    const std::uint64_t few =
        std::min({static_cast<std::uint64_t>(distinct), range,
                  static_cast<std::uint64_t>(std::max<std::int64_t>(numel_, 1))});
    const auto place = static_cast<std::uint64_t>(shuffled(element));
    const std::uint64_t chosen =
        place < few ? place : static_cast<std::uint64_t>(to_range(bits(element), few));
    return chosen * (range / few);
  }

  /// Returns one element of a random permutation of [0, numel).
  [[nodiscard]] std::int64_t shuffled(std::int64_t element) const {
    return permuted(element, numel_, key_);
  }

  const Rule& rule_;
  std::uint64_t key_;
  std::int64_t numel_;
  std::vector<std::int64_t> segment_starts_;  ///< Lengths only: first element of each segment
  std::optional<ReuseDraws> reuse_;           ///< ReusedIntegers only
};

}  // namespace understudy::replayer
