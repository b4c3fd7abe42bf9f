#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "et_schema/model/program.h"
#include "et_schema/model/reuse.h"
#include "generator/options/options.h"

namespace understudy::generator {

/// The same reuse with draws for exactly `count` elements: rare numbers become fewer or more,
/// frequent ones less or more frequent. `count` is at least one.
[[nodiscard]] et_schema::Reuse with_draws(const et_schema::Reuse& reuse, std::int64_t count);

/// The same number of draws, of which exactly `distinct` are different: frequent numbers give draws
/// to numbers that occur once, or the rarest ones give theirs up. Nothing where the draws, or the
/// bins, cannot hold as many.
[[nodiscard]] std::optional<et_schema::Reuse> with_distinct(const et_schema::Reuse& reuse,
                                                            std::int64_t distinct);

/// `draws` numbers drawn from [low, high), low + k in proportion to (k + 1)^-alpha; alpha is finite
/// and not negative. Drawn by rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6(3), 1996).
[[nodiscard]] et_schema::Reuse zipf_reuse(std::int64_t low, std::int64_t high, double alpha,
                                          std::int64_t draws, std::uint64_t seed);

/// The rule for elements that repeat as recorded.
[[nodiscard]] et_schema::ValueRule reuse_rule(et_schema::Reuse reuse, std::string why);

/// A rule of ReusedIntegers for `count` elements that obeys one of Integers too: numbers beyond its
/// range are moved to the nearest within, and as many are different as it asks for. Where that
/// cannot be, the rule of Integers.
[[nodiscard]] et_schema::ValueRule narrow_reuse(const et_schema::ValueRule& reuse,
                                                const et_schema::ValueRule& integers,
                                                std::int64_t count);

/// A rule of Integers for `count` elements as the user wants indices to be spread. Rules that ask
/// for a number of different values keep it.
[[nodiscard]] et_schema::ValueRule spread_indices(const et_schema::ValueRule& integers,
                                                  const IndexSpread& spread, std::int64_t count,
                                                  std::uint64_t seed);

}  // namespace understudy::generator
