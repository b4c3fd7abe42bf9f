#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace understudy::calibrator {

/// Points of the unit cube that fill it evenly, whatever their number: Halton's sequence (van der
/// Corput's in another prime base for each dimension), its digits permuted at random, without which
/// the higher dimensions are correlated (Kocis and Whiten 1997). Equal seeds give equal points.
class Halton {
 public:
  static constexpr std::size_t kMostDimensions = 16;

  Halton(std::size_t dimensions, std::uint64_t seed);

  /// Point number `index`, from 0; each coordinate in [0, 1).
  [[nodiscard]] std::vector<double> at(std::uint64_t index) const;

 private:
  std::vector<std::vector<std::uint32_t>> permutations_;  ///< by dimension, of its base's digits
};

}  // namespace understudy::calibrator
