#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <set>
#include <string>
#include <vector>

namespace understudy::fleet {

/// Returns the names that occur in any of the rows' maps.
template <typename Rows, typename MapOf>
[[nodiscard]] std::set<std::string> names_in(const Rows& rows, MapOf map_of) {
  std::set<std::string> names;
  for (const auto& row : rows) {
    for (const auto& entry : std::invoke(map_of, row)) {
      names.insert(entry.first);
    }
  }
  return names;
}

/// One vector per job.
using Columns = std::vector<std::vector<double>>;

/// Returns the non-negative weights whose weighted sum of the columns is closest to `target` (least
/// squares). Uses coordinate descent on the normal equations until no weight moves by more than
/// 1e-10 of the largest.
[[nodiscard]] std::vector<double> non_negative_least_squares(const Columns& columns,
                                                             const std::vector<double>& target);

/// Returns √Σ(Σ weight × column − target)².
[[nodiscard]] double residual_of(const Columns& columns, const std::vector<double>& weights,
                                 const std::vector<double>& target);

/// SplitMix64 (Steele, Lea, Flood 2014). A seed gives the same numbers on every platform, which the
/// standard library's distributions do not guarantee.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
  /// Uniform in [0, count).
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(count));
  }
  /// Standard normal (Box-Muller).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace understudy::fleet
