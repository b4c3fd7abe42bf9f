#pragma once

// Values that traces do not record, and the assumptions that replace them.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Returns the operator's usual epsilon if the argument is an epsilon that was recorded as zero,
/// since traces print doubles with six decimals. Otherwise returns nothing. `op` may have an
/// overload; `default_value` is the schema's text, or empty.
[[nodiscard]] std::optional<double> lost_epsilon(std::string_view op, std::string_view argument,
                                                 std::string_view default_value, double recorded);

/// Returns PyTorch's default type of floating results (torch.set_default_dtype()), which no trace
/// records. Inferred from the first instruction that shows it; otherwise float32.
[[nodiscard]] DType default_dtype(const Program& program);

// Assumptions about tensors that were made before the step, if the trace records too little about
// them. Operators on such tensors do not count as exact (docs/metrics.md, "Coverage").

/// ValueRule::why of the indices of a sparse tensor whose number of elements is assumed.
inline constexpr std::string_view kAssumedElements = "assumed number of elements";

/// Returns the assumed number of elements of a sparse tensor: 8 per row, as in a graph's adjacency
/// matrix, but at most an eighth of `all` and at least 1; 0 if `all` is 0.
[[nodiscard]] constexpr std::int64_t assumed_elements(std::int64_t rows, std::int64_t all) {
  constexpr std::int64_t kElementsPerRow = 8;
  constexpr std::int64_t kSparsest = 8;
  // Both numbers are checked sizes of a tensor, but their product with 8 may overflow.
  const std::int64_t most = std::max<std::int64_t>(all / kSparsest, 1);
  return all == 0 ? 0 : rows > most / kElementsPerRow ? most : rows * kElementsPerRow;
}

}  // namespace understudy::et_schema
