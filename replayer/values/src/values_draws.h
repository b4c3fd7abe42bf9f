#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
  [[nodiscard]] std::uint64_t bits(std::int64_t element) const;
  [[nodiscard]] bool happens(std::int64_t element) const;
  /// Boundary `i` of `count` random pieces of [0, sum]; boundary 0 is 0, boundary `count` is sum.
  /// No piece is above `longest`, if that is above 0 and the mean allows.
  [[nodiscard]] std::int64_t boundary(std::int64_t first_element, std::int64_t i,
                                      std::int64_t count, std::int64_t sum,
                                      std::int64_t longest = 0) const;
  [[nodiscard]] std::int64_t offset(std::int64_t element) const;
  void lengths(std::int64_t first, std::span<std::int64_t> out) const;
  [[nodiscard]] std::uint64_t one_of_few(std::int64_t element, std::uint64_t range) const;
  [[nodiscard]] double dominant(std::int64_t element) const;
  /// A random permutation of [0, numel), one element of it.
  [[nodiscard]] std::int64_t shuffled(std::int64_t element) const;

  const et_schema::ValueRule& rule_;
  std::uint64_t key_;
  std::int64_t numel_;
  std::vector<std::int64_t> segment_starts_;  ///< of kLengths: first element of each segment
  std::optional<ReuseDraws> reuse_;           ///< of kReuse
};

/// Throws the Error of a rule that no content can fulfil.
[[noreturn]] void refuse_rule(const et_schema::ValueRule& rule, const std::string& expected,
                              const std::string& got);

}  // namespace understudy::replayer
