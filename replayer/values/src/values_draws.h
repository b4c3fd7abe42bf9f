#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"
#include "replayer/values/values.h"
#include "values_reuse.h"

namespace understudy::replayer {

/// The random numbers of one value rule over a tensor of `numel` elements: a pure function of
/// (seed, stream, element), with exactly rounded arithmetic only, so that every platform draws the
/// same. The constructor throws Error (bad input) for a rule that cannot hold.
class Draws {
 public:
  Draws(const et_schema::ValueRule& rule, ValueKey key, std::int64_t numel);

  /// Whether the rule gives whole numbers: then call integers(), else reals().
  [[nodiscard]] bool integral() const;
  void reals(std::int64_t first, std::span<double> out) const;
  void integers(std::int64_t first, std::span<std::int64_t> out) const;

 private:
  // One element, of each kind of rule: a whole number or a floating one.
  [[nodiscard]] std::int64_t draw(const et_schema::ValueRule::Zeros& rule,
                                  std::int64_t element) const;
  [[nodiscard]] double draw(const et_schema::ValueRule::Constant& rule, std::int64_t element) const;
  [[nodiscard]] double draw(const et_schema::ValueRule::Uniform& rule, std::int64_t element) const;
  [[nodiscard]] double draw(const et_schema::ValueRule::Normal& rule, std::int64_t element) const;
  [[nodiscard]] std::int64_t draw(const et_schema::ValueRule::Integers& rule,
                                  std::int64_t element) const;
  [[nodiscard]] std::int64_t draw(const et_schema::ValueRule::Offsets& rule,
                                  std::int64_t element) const;
  [[nodiscard]] std::int64_t draw(const et_schema::ValueRule::Lengths& rule,
                                  std::int64_t element) const;
  [[nodiscard]] std::int64_t draw(const et_schema::ValueRule::Arange& rule,
                                  std::int64_t element) const;
  [[nodiscard]] std::int64_t draw(const et_schema::ValueRule::Bernoulli& rule,
                                  std::int64_t element) const;
  [[nodiscard]] std::int64_t draw(const et_schema::ValueRule::Mask& rule,
                                  std::int64_t element) const;
  [[nodiscard]] std::int64_t draw(const et_schema::ValueRule::Targets& rule,
                                  std::int64_t element) const;
  [[nodiscard]] std::int64_t draw(const et_schema::ValueRule::ReusedIntegers& rule,
                                  std::int64_t element) const;
  /// Element (row, column) of a matrix is that of (column, row).
  [[nodiscard]] double draw(const et_schema::ValueRule::Dominant& rule, std::int64_t element) const;

  template <typename Kind>
  using Drawn = decltype(std::declval<const Draws&>().draw(std::declval<const Kind&>(), 0));

  /// Draws from `first` on, if the rule's kind draws numbers of this type.
  template <typename Number>
  void draw_all(std::int64_t first, std::span<Number> out) const;

  [[nodiscard]] std::uint64_t bits(std::int64_t element) const;
  [[nodiscard]] bool happens(double probability, std::int64_t element) const;
  /// Boundary `i` of `count` random pieces of [0, sum]; boundary 0 is 0, boundary `count` is sum.
  /// No piece is above `longest`, if that is above 0 and the mean allows.
  [[nodiscard]] std::int64_t boundary(std::int64_t first_element, std::int64_t i,
                                      std::int64_t count, std::int64_t sum,
                                      std::int64_t longest = 0) const;
  /// One of `distinct` different numbers below `range`, each of which some element has.
  [[nodiscard]] std::uint64_t one_of_few(std::int64_t distinct, std::uint64_t range,
                                         std::int64_t element) const;
  /// A random permutation of [0, numel), one element of it.
  [[nodiscard]] std::int64_t shuffled(std::int64_t element) const;

  const et_schema::ValueRule& rule_;
  std::uint64_t key_;
  std::int64_t numel_;
  std::vector<std::int64_t> segment_starts_;  ///< of Lengths: first element of each segment
  std::optional<ReuseDraws> reuse_;           ///< of ReusedIntegers
};

/// Throws the Error of a rule that no content can fulfil.
[[noreturn]] void refuse_rule(const et_schema::ValueRule& rule, const std::string& expected,
                              const std::string& got);

}  // namespace understudy::replayer
