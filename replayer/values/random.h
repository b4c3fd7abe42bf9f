#pragma once

// Random numbers as pure functions of a key and a position, in exact arithmetic: equal on all
// platforms, for any number of threads and any order.

#include <algorithm>
#include <bit>
#include <cstdint>

namespace understudy::replayer {

/// Identifies a stream of random numbers. Element i of a tensor depends only on (seed, stream, i),
/// so the bytes are equal on all CPUs, for any number of threads and any order. Floats drawn by a
/// device (values_device.h) are equal on equal devices.
struct ValueKey {
  std::uint64_t seed = 0;    ///< the user's --seed, mixed with the rank if ranks must differ
  std::uint64_t stream = 0;  ///< slot number, or any other number that is unique in the program
};

inline constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
__extension__ using Wide = unsigned __int128;

/// The finaliser of SplitMix64: every bit of the input reaches every bit of the output.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// Returns a number in [0, 1), a multiple of 2^-53.
constexpr double to_unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

/// Returns a number in [0, range), for range > 0.
inline std::int64_t to_range(std::uint64_t bits, std::uint64_t range) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>((Wide{bits} * range) >> 64));
}

/// Approximates a standard normal by the sum of four uniform 16-bit numbers. It is bounded by 3.47,
/// exact up to one rounding, and needs no logarithm, whose last bits differ by platform.
constexpr double to_normal(std::uint64_t bits) {
  constexpr std::int64_t kTwiceMean = 4 * 65535;
  constexpr double kScale = 1 / 75674.46;  // 1 / (2 sqrt(4 (65536² − 1) / 12))
  const std::uint64_t sum =
      (bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) + ((bits >> 32) & 0xFFFF) + (bits >> 48);
  return static_cast<double>(2 * static_cast<std::int64_t>(sum) - kTwiceMean) * kScale;
}

/// Returns floor(a * b / c) for non-negative a, b and positive c with a <= c.
inline std::int64_t scaled(std::int64_t a, std::int64_t b, std::int64_t c) {
  const Wide product = Wide{static_cast<std::uint64_t>(a)} * static_cast<std::uint64_t>(b);
  return static_cast<std::int64_t>(
      static_cast<std::uint64_t>(product / static_cast<std::uint64_t>(c)));
}

/// Returns the image of `position` in the key's random permutation of [0, count): a Feistel
/// network, applied until the result is below count.
inline std::int64_t permuted(std::int64_t position, std::int64_t count, std::uint64_t key) {
  const auto width = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(count)));
  const unsigned half_bits = std::max(1U, (width + 1) / 2);
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  auto value = static_cast<std::uint64_t>(position);
  do {
    std::uint64_t left = value >> half_bits;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (mix(key + (round + 1) * kGolden + right) & mask);
      left = right;
      right = next;
    }
    value = (left << half_bits) | right;
  } while (value >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(value);
}

}  // namespace understudy::replayer
