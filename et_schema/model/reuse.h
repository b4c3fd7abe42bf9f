#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/value_rule.h"

namespace understudy::et_schema {

[[nodiscard]] std::int64_t draw_count(const Reuse& reuse);
/// Returns the number of different numbers among the draws.
[[nodiscard]] std::int64_t distinct_count(const Reuse& reuse);

/// Why a Reuse is invalid.
struct ReuseProblem {
  std::string field;  ///< "reuse" or "run"
  std::string expected;
  std::string got;
};
/// Returns nothing if the draws can be made: bins ascend and are wide enough for their numbers, and
/// there are 1 to 2^62 - 1 draws.
[[nodiscard]] std::optional<ReuseProblem> find_problem(const Reuse& reuse);

/// A tensor argument of one recorded call.
struct RecordedTensor {
  std::string op;          ///< "aten::embedding", without overload
  std::uint64_t call = 0;  ///< index among the operator's calls in the step, from 0
  std::size_t tensor = 0;  ///< flat index among all input tensors
  std::vector<std::int64_t> sizes;
  bool operator==(const RecordedTensor&) const = default;
};

/// The values of an index tensor.
struct IndexUse {
  RecordedTensor of;
  Reuse reuse;
  bool operator==(const IndexUse&) const = default;
};

/// The share of zeros in a tensor of which a root or a logarithm is computed.
struct ZeroUse {
  RecordedTensor of;
  double share = 0;  ///< in (0, 1]
  bool operator==(const ZeroUse&) const = default;
};

/// PyTorch's layouts of a sparse tensor.
enum class SparseLayout : std::uint8_t { kCoo, kCsr, kCsc };

/// "coo", "csr" or "csc".
[[nodiscard]] std::string_view to_string(SparseLayout layout);
[[nodiscard]] std::optional<SparseLayout> sparse_layout_from_string(std::string_view text);

/// The elements of a sparse tensor that was made before the step.
struct SparseUse {
  RecordedTensor of;
  SparseLayout layout = SparseLayout::kCoo;
  std::int64_t elements = 0;
  bool coalesced = false;
  std::vector<Reuse> indices;  ///< by sparse dimension
  bool operator==(const SparseUse&) const = default;
};

/// Properties of tensors' values, which scripts/capture records in a separate step from the traced
/// one (docs/formats.md, rank-R.indices.json).
struct IndexUses {
  /// Number of calls by operator. The recorder does not see operators that other operators call.
  std::map<std::string, std::uint64_t> calls;
  std::vector<IndexUse> uses;
  std::vector<ZeroUse> zeros;
  std::vector<SparseUse> sparse;
  std::uint64_t left_out = 0;  ///< uses beyond the recorder's limit
  bool operator==(const IndexUses&) const = default;
};

}  // namespace understudy::et_schema
