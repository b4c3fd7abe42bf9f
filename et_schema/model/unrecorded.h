#pragma once

// What traces do not say, and what is taken for true instead.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Traces print doubles with six decimals, in which every usual epsilon is zero. The operator's own
/// one, where an argument is such an epsilon that was recorded as zero; else nothing. `op` may have
/// an overload; `default_value` is the schema's text, or empty.
[[nodiscard]] std::optional<double> lost_epsilon(std::string_view op, std::string_view argument,
                                                 std::string_view default_value, double recorded);

/// The type that PyTorch gave floating results where nothing else told one, as
/// torch.set_default_dtype() sets it and no trace says: told by the first instruction that shows
/// it, float32 where none does.
[[nodiscard]] DType default_dtype(const Program& program);

/// How long the recorded step took; 0: no profile is linked.
[[nodiscard]] constexpr std::int64_t recorded_step_ns(const Program& program) {
  return !program.profile                 ? 0
         : program.profile->length_ns > 0 ? program.profile->length_ns
                                          : program.profile->step_ns;
}

// What is taken for true of tensors made before the step of which a trace says too little.
// Operators on them do not count as exact (docs/metrics.md, "Coverage").

/// ValueRule::why of the indices of a sparse tensor whose number of elements is assumed.
inline constexpr std::string_view kAssumedElements = "assumed number of elements";

/// A sparse tensor has so many elements in each place of the first dimension, as the rows of a
/// graph's matrix have them, but at most an eighth of all and one at least.
[[nodiscard]] constexpr std::int64_t assumed_elements(std::int64_t rows, std::int64_t all) {
  constexpr std::int64_t kElementsPerRow = 8;
  constexpr std::int64_t kSparsest = 8;
  // Both are sizes of a tensor whose extent was checked; the product with 8 may not be.
  const std::int64_t most = std::max<std::int64_t>(all / kSparsest, 1);
  return all == 0 ? 0 : rows > most / kElementsPerRow ? most : rows * kElementsPerRow;
}

}  // namespace understudy::et_schema
