#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace understudy::et_schema {

/// `numbers` different numbers occur `times` times each.
struct Repeat {
  std::int64_t times = 0;
  std::int64_t numbers = 0;
  bool operator==(const Repeat&) const = default;
};

/// How often the numbers in [low, high) occur; numbers that do not occur are not listed.
struct ReuseBin {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::vector<Repeat> repeats;
  bool operator==(const ReuseBin&) const = default;
};

/// The properties of an index tensor that matter to a cache, without the elements: how often
/// numbers repeat, where in the range the frequent ones are, and their order. The elements are a
/// list of draws in which each number of each bin occurs as often as `repeats` says. Every draw
/// fills `run` consecutive elements, and the list is repeated until the tensor is full.
struct Reuse {
  std::vector<ReuseBin> bins;  ///< ascending, without overlap
  std::int64_t run = 1;        ///< above 1 if an index was expanded over its last dimensions
  bool sorted = false;         ///< the draws never decrease; otherwise they are shuffled
  bool operator==(const Reuse&) const = default;
};

/// How the content of a tensor is generated if no instruction of the program writes it.
struct ValueRule {
  struct Zeros {
    bool operator==(const Zeros&) const = default;
  };
  struct Constant {
    double value = 0;
    bool operator==(const Constant&) const = default;
  };
  /// Floats in [low, high).
  struct Uniform {
    double low = 0;
    double high = 0;
    bool operator==(const Uniform&) const = default;
  };
  struct Normal {
    double mean = 0;
    double deviation = 0;
    bool operator==(const Normal&) const = default;
  };
  /// Uniform integers in [low, high).
  struct Integers {
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::int64_t distinct = 0;  ///< number of different integers if above 0
    bool operator==(const Integers&) const = default;
  };
  /// Monotone, from 0 to at most `end`.
  struct Offsets {
    std::int64_t end = 0;
    bool include_last = false;  ///< the last element is `end`
    std::int64_t longest = 0;   ///< largest step from one element to the next if above 0
    bool operator==(const Offsets&) const = default;
  };
  struct Segment {
    std::int64_t count = 0;
    std::int64_t sum = 0;
    bool operator==(const Segment&) const = default;
  };
  /// Non-negative; each group of segments.count elements adds up to segments.sum.
  struct Lengths {
    std::vector<Segment> segments = {};
    bool operator==(const Lengths&) const = default;
  };
  /// start, start + step, …
  struct Arange {
    std::int64_t start = 0;
    std::int64_t step = 0;
    bool operator==(const Arange&) const = default;
  };
  /// True (or 1) with a probability.
  struct Bernoulli {
    double probability = 0;
    bool operator==(const Bernoulli&) const = default;
  };
  /// Exactly `count` elements true (or 1), spread at random.
  struct Mask {
    std::int64_t count = 0;
    bool operator==(const Mask&) const = default;
  };
  /// Class numbers in [0, classes), or ignore_index with a probability.
  struct Targets {
    std::int64_t classes = 0;
    std::int64_t ignore_index = 0;
    double ignored_share = 0;  ///< probability of ignore_index
    bool operator==(const Targets&) const = default;
  };
  /// Integers in [low, high) that occur as often as `reuse` says.
  struct ReusedIntegers {
    std::int64_t low = 0;
    std::int64_t high = 0;
    Reuse reuse = {};
    std::int64_t distinct = 0;  ///< requested number of different integers; 0: not requested
    bool operator==(const ReusedIntegers&) const = default;
  };
  /// Square matrices, symmetric and diagonally dominant with `diagonal` on the diagonal: positive
  /// definite and well-conditioned.
  struct Dominant {
    std::int64_t rows = 0;
    double diagonal = 0;
    bool operator==(const Dominant&) const = default;
  };
  using Kind = std::variant<Zeros, Constant, Uniform, Normal, Integers, Offsets, Lengths, Arange,
                            Bernoulli, Mask, Targets, ReusedIntegers, Dominant>;

  Kind kind;
  std::string why = {};  ///< operator and argument that need it: "aten::embedding.indices"

  template <typename OfKind>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<OfKind>(kind);
  }
  /// Returns null if the rule is of another kind.
  template <typename OfKind>
  [[nodiscard]] const OfKind* as() const {
    return std::get_if<OfKind>(&kind);
  }
  template <typename OfKind>
  [[nodiscard]] OfKind* as() {
    return std::get_if<OfKind>(&kind);
  }
  bool operator==(const ValueRule&) const = default;
};

/// The integers in [low, high).
struct IntegerRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool operator==(const IntegerRange&) const = default;
};

/// Returns the range that a rule draws integers from; empty for other rules.
[[nodiscard]] inline std::optional<IntegerRange> range_of(const ValueRule& rule) {
  if (const auto* integers = rule.as<ValueRule::Integers>()) {
    return IntegerRange{integers->low, integers->high};
  }
  if (const auto* reused = rule.as<ValueRule::ReusedIntegers>()) {
    return IntegerRange{reused->low, reused->high};
  }
  return std::nullopt;
}

}  // namespace understudy::et_schema
