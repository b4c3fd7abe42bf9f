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

/// The length of the list of draws.
[[nodiscard]] std::int64_t draw_count(const Reuse& reuse);
/// How many different numbers the draws have.
[[nodiscard]] std::int64_t distinct_count(const Reuse& reuse);

/// What makes a Reuse impossible.
struct ReuseProblem {
  std::string field;  ///< "reuse" or "run"
  std::string expected;
  std::string got;
};
/// Nothing where draws can be made: bins ascend, hold as many numbers as they say, and the draws
/// are at least one and fewer than 2^62.
[[nodiscard]] std::optional<ReuseProblem> find_problem(const Reuse& reuse);

/// One argument of one call.
struct RecordedTensor {
  std::string op;                   ///< "aten::embedding", without overload
  std::uint64_t call = 0;           ///< the operator's calls in the step, counted from 0
  std::size_t tensor = 0;           ///< flat index: every tensor among the inputs counts
  std::vector<std::int64_t> sizes;  ///< of that tensor
  bool operator==(const RecordedTensor&) const = default;
};

/// Its values, where they are indices.
struct IndexUse {
  RecordedTensor of;
  Reuse reuse;
  bool operator==(const IndexUse&) const = default;
};

/// How many of its elements are zero, where a root or a logarithm is taken of them.
struct ZeroUse {
  RecordedTensor of;
  double share = 0;  ///< in (0, 1]
  bool operator==(const ZeroUse&) const = default;
};

/// How PyTorch keeps a sparse tensor.
enum class SparseLayout : std::uint8_t { kCoo, kCsr, kCsc };

/// "coo", "csr" or "csc".
[[nodiscard]] std::string_view to_string(SparseLayout layout);
[[nodiscard]] std::optional<SparseLayout> sparse_layout_from_string(std::string_view text);

/// The elements of a sparse tensor that is older than the step.
struct SparseUse {
  RecordedTensor of;
  SparseLayout layout = SparseLayout::kCoo;
  std::int64_t elements = 0;
  bool coalesced = false;
  std::vector<Reuse> indices;  ///< by sparse dimension
  bool operator==(const SparseUse&) const = default;
};

/// What scripts/capture records of values, in a step of its own beside the traced one
/// (docs/formats.md, rank-R.indices.json).
struct IndexUses {
  std::map<std::string, std::uint64_t> calls;  ///< of all operators that the recorder saw: what
                                               ///< these call in turn it did not see
  std::vector<IndexUse> uses;
  std::vector<ZeroUse> zeros;
  std::vector<SparseUse> sparse;
  std::uint64_t left_out = 0;  ///< uses beyond the number that the recorder keeps
  bool operator==(const IndexUses&) const = default;
};

}  // namespace understudy::et_schema
