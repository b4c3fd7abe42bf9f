#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "generator/link/names.h"

namespace understudy::generator {

inline constexpr std::uint32_t kUnaligned = std::numeric_limits<std::uint32_t>::max();

/// Aligns two sequences. Returns for each element of `a` the position of its equal in `b`, or
/// kUnaligned; positions ascend. Aligns as many elements as possible (Myers, "An O(ND) difference
/// algorithm", 1986). After 400 differences, the best alignment so far is kept and the rest is
/// aligned anew. The time is at most linear in the lengths times that bound.
[[nodiscard]] std::vector<std::uint32_t> align(std::span<const NameId> a,
                                               std::span<const NameId> b);

}  // namespace understudy::generator
