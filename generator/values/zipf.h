#pragma once

#include <cstdint>

#include "et_schema/model/value_rule.h"

namespace understudy::generator {

/// Draws `draws` numbers from [low, high), low + k in proportion to (k + 1)^-alpha; alpha ≥ 0. Uses
/// rejection-inversion (Hörmann and Derflinger, ACM TOMACS 6(3), 1996).
[[nodiscard]] et_schema::Reuse zipf_reuse(std::int64_t low, std::int64_t high, double alpha,
                                          std::int64_t draws, std::uint64_t seed);

}  // namespace understudy::generator
