#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace understudy::calibrator {

/// A sequence of points that fills the unit cube evenly, however many are used: Halton's sequence
/// (van der Corput's in another prime base for each dimension). Its digits are permuted at random,
/// since the higher dimensions would be correlated otherwise (Kocis and Whiten 1997). Equal seeds
/// give equal points.
class Halton {
 public:
  static constexpr std::size_t kMostDimensions = 16;

  Halton(std::size_t dimensions, std::uint64_t seed);

  /// Returns point number `index`, from 0; each coordinate is in [0, 1).
  [[nodiscard]] std::vector<double> at(std::uint64_t index) const;

 private:
  std::vector<std::vector<std::uint32_t>> permutations_;  ///< of digits, by dimension
};

}  // namespace understudy::calibrator
