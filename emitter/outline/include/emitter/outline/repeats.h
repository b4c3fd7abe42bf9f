#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace understudy::emitter {

/// `count` equal runs of `period` tokens, one behind the other, from `begin`.
struct Repeat {
  std::size_t begin = 0;
  std::size_t period = 0;
  std::size_t count = 0;
  [[nodiscard]] std::size_t end() const { return begin + period * count; }
  bool operator==(const Repeat&) const = default;
};

/// Repeats in [begin, end) of the tokens, apart from each other and in order: the one that saves
/// most tokens first, then those beside it. Where the first run may begin at several places, the
/// one with the least `cost` (of cutting before a token) is taken. Periods of one token, and what
/// saves fewer than four, are left alone. Quadratic in the length.
[[nodiscard]] std::vector<Repeat> find_repeats(std::span<const std::uint32_t> tokens,
                                               std::size_t begin, std::size_t end,
                                               const std::function<std::size_t(std::size_t)>& cost);

}  // namespace understudy::emitter
