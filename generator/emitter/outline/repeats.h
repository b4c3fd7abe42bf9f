#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace understudy::emitter {

/// `count` equal runs of `period` tokens, one after the other, from `begin`.
struct Repeat {
  std::size_t begin = 0;
  std::size_t period = 0;
  std::size_t count = 0;
  [[nodiscard]] std::size_t end() const { return begin + period * count; }
  bool operator==(const Repeat&) const = default;
};

/// Repeats in [begin, end) of the tokens, disjoint and in order: the one that saves most tokens is
/// chosen first, then those on both sides of it. If the first run can begin at several places, the
/// one with the least `cost` (of cutting before a token) is taken. Periods of one token, and
/// repeats that save fewer than four, are ignored. Quadratic in the length.
[[nodiscard]] std::vector<Repeat> find_repeats(std::span<const std::uint32_t> tokens,
                                               std::size_t begin, std::size_t end,
                                               const std::function<std::size_t(std::size_t)>& cost);

}  // namespace understudy::emitter
