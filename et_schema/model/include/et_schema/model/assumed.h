#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace understudy::et_schema {

// What is taken for true of tensors made before the step of which a trace says too little.
// Operators on them do not count as exact (docs/metrics.md, "Coverage").

/// ValueRule::why of the indices of a sparse tensor whose number of elements is assumed.
inline constexpr std::string_view kAssumedElements = "assumed number of elements";

/// Of a sparse tensor: so many elements in each place of the first dimension, as the rows of a
/// graph's matrix have them, but at most an eighth of all and one at least.
[[nodiscard]] constexpr std::int64_t assumed_elements(std::int64_t rows, std::int64_t all) {
  constexpr std::int64_t kElementsPerRow = 8;
  constexpr std::int64_t kSparsest = 8;
  // Both are sizes of a tensor whose extent was checked; the product with 8 may not be.
  const std::int64_t most = std::max<std::int64_t>(all / kSparsest, 1);
  return all == 0 ? 0 : rows > most / kElementsPerRow ? most : rows * kElementsPerRow;
}

}  // namespace understudy::et_schema
