#pragma once

#include <cstdint>
#include <optional>

#include "et_schema/model/reuse.h"

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

}  // namespace understudy::generator
