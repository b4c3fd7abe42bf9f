#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "et_schema/model/program.h"
#include "et_schema/model/reuse.h"
#include "generator/options/options.h"

namespace understudy::generator {

/// Returns the reuse scaled to exactly `count` draws, one for each element. Scaling changes how
/// many rare numbers there are, and how often frequent numbers occur. `count` must be at least 1.
[[nodiscard]] et_schema::Reuse with_draws(const et_schema::Reuse& reuse, std::int64_t count);

/// Returns the reuse with the same number of draws but exactly `distinct` different numbers. Draws
/// of repeated numbers go to new numbers, or the rarest numbers are dropped. Empty if the draws or
/// the bins have no room for so many numbers.
[[nodiscard]] std::optional<et_schema::Reuse> with_distinct(const et_schema::Reuse& reuse,
                                                            std::int64_t distinct);

/// Draws `draws` numbers from [low, high), low + k in proportion to (k + 1)^-alpha; alpha ≥ 0. Uses
/// rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6(3), 1996).
[[nodiscard]] et_schema::Reuse zipf_reuse(std::int64_t low, std::int64_t high, double alpha,
                                          std::int64_t draws, std::uint64_t seed);

/// Returns the value rule for elements that repeat as in `reuse`.
[[nodiscard]] et_schema::ValueRule reuse_rule(et_schema::Reuse reuse, std::string why);

/// Returns a rule of ReusedIntegers for `count` elements that also satisfies a rule of Integers:
/// moves numbers outside its range to the nearest one inside, and adjusts the number of distinct
/// ones. If that is impossible, returns the rule of Integers.
[[nodiscard]] et_schema::ValueRule narrow_reuse(const et_schema::ValueRule& reuse,
                                                const et_schema::ValueRule& integers,
                                                std::int64_t count);

/// Returns a rule of Integers for `count` elements, spread as the user requested. A demanded number
/// of distinct values is kept.
[[nodiscard]] et_schema::ValueRule spread_indices(const et_schema::ValueRule& integers,
                                                  const IndexSpread& spread, std::int64_t count,
                                                  std::uint64_t seed);

}  // namespace understudy::generator
