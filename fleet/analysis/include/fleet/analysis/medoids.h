#pragma once

#include <cstddef>
#include <vector>

#include "fleet/analysis/least_squares.h"

namespace understudy::fleet {

/// The `count` columns that the others lie nearest to, by weight: k-medoids, built one by one and
/// then swapped as long as that helps (PAM; Kaufman, Rousseeuw 1987). Their places, ascending.
/// O(count × n² × swaps).
[[nodiscard]] std::vector<std::size_t> medoids_of(const Columns& columns,
                                                  const std::vector<double>& weights,
                                                  std::size_t count);

}  // namespace understudy::fleet
