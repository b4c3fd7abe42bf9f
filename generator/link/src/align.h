#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "generator/link/names.h"

namespace understudy::generator {

inline constexpr std::uint32_t kUnaligned = std::numeric_limits<std::uint32_t>::max();

/// Aligns two sequences: for each element of `a` the position of its equal in `b`, or kUnaligned;
/// positions rise. As many are aligned as can be (Myers, "An O(ND) difference algorithm", 1986),
/// where no stretch differs in more than 400 places; beyond that the best start of a stretch is
/// kept and the rest aligned anew. So time is linear in the lengths, times at most that bound.
[[nodiscard]] std::vector<std::uint32_t> align(std::span<const NameId> a,
                                               std::span<const NameId> b);

}  // namespace understudy::generator
