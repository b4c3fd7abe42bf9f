#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

namespace understudy::replayer {

/// Number of timing passes and their time limit; at least one pass is made.
struct PassBudget {
  std::size_t most = 1;
  double budget_ms = 0;
  bool operator==(const PassBudget&) const = default;
};

/// Returns `asked` passes without a time limit, if set. Otherwise the passes are as many as the
/// measured iterations, and may take as long. After kManyIterations or more iterations, up to kMost
/// passes are allowed, since `compare` needs many, for the iterations' time or kLeastMs if that is
/// longer.
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
