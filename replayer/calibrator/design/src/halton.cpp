#include "replayer/calibrator/design/halton.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "et_schema/base/assert.h"

namespace understudy::calibrator {
namespace {

constexpr std::array<std::uint32_t, Halton::kMostDimensions> kPrimes = {
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};

/// Fisher-Yates shuffle: std::shuffle differs between standard libraries.
void shuffle(std::vector<std::uint32_t>& digits, std::mt19937_64& random) {
  for (std::size_t left = digits.size(); left > 1; --left) {
    std::swap(digits[left - 1], digits[random() % left]);
  }
}

}  // namespace

Halton::Halton(std::size_t dimensions, std::uint64_t seed) {
  UNDERSTUDY_ASSERT(dimensions <= kMostDimensions);
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::vector<std::uint32_t>& digits = permutations_.emplace_back(kPrimes[i]);
    std::iota(digits.begin(), digits.end(), 0U);
    shuffle(digits, random);
  }
}

std::vector<double> Halton::at(std::uint64_t index) const {
  constexpr double kResolution = 1e-9;  // further digits are smaller
  std::vector<double> point;
  for (const std::vector<std::uint32_t>& digits : permutations_) {
    const auto base = static_cast<std::uint64_t>(digits.size());
    double value = 0;
    double unit = 1;
    std::uint64_t left = index;
    while (unit > kResolution) {  // leading zeros are permuted, too
      unit /= static_cast<double>(base);
      value += unit * digits[left % base];
      left /= base;
    }
    constexpr double kBelowOne = 1 - kResolution;
    point.push_back(std::min(value, kBelowOne));
  }
  return point;
}

}  // namespace understudy::calibrator
