#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

namespace understudy::replayer {

/// How many timing passes are made, and how long they may take; one is made in any case.
struct PassBudget {
  std::size_t most = 1;
  double budget_ms = 0;
  bool operator==(const PassBudget&) const = default;
};

/// As many as were asked for; by default as many as iterations were measured, for no longer than
/// those took. From kManyIterations on up to kMost, since `compare` works on them: for no longer
/// than the iterations took, or kLeastMs if that is longer.
[[nodiscard]] inline PassBudget pass_budget(std::optional<int> asked,
                                            const std::vector<double>& measured_ms) {
  constexpr std::size_t kManyIterations = 20;
  constexpr std::size_t kMost = 200;
  constexpr double kLeastMs = 2'000;
  if (asked) {
    return {static_cast<std::size_t>(*asked), std::numeric_limits<double>::infinity()};
  }
  const double spent_ms = std::accumulate(measured_ms.begin(), measured_ms.end(), 0.0);
  if (measured_ms.size() >= kManyIterations) {
    return {kMost, std::max(spent_ms, kLeastMs)};
  }
  return {std::max<std::size_t>(measured_ms.size(), 1), spent_ms};
}

}  // namespace understudy::replayer
