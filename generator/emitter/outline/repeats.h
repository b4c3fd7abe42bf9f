#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace understudy::emitter {

/// `count` consecutive equal sequences of `period` tokens each, from token `begin` on.
struct Repeat {
  std::size_t begin = 0;
  std::size_t period = 0;
  std::size_t count = 0;
  [[nodiscard]] std::size_t end() const { return begin + period * count; }
  bool operator==(const Repeat&) const = default;
};

/// Finds disjoint repeats in [begin, end) of the tokens, in order. The repeat that saves the most
/// tokens is chosen first, then repeats on both sides of it. If its first period can begin at
/// several tokens, the one with the least `cost` (of dividing before that token) is chosen. Ignores
/// periods of one token, and repeats that save fewer than four. The time is quadratic in the
/// length.
[[nodiscard]] std::vector<Repeat> find_repeats(std::span<const std::uint32_t> tokens,
                                               std::size_t begin, std::size_t end,
                                               const std::function<std::size_t(std::size_t)>& cost);

}  // namespace understudy::emitter
