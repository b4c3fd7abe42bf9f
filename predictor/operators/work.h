#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "predictor/calls/call.h"

namespace understudy::predictor {

/// What an operator's kernels have in common; et_schema::op_class names it.
enum class Family : std::uint8_t {
  kMatmul,
  kConvolution,
  kAttention,
  kNormalization,
  kSoftmax,
  kElementwise,
  kReduction,
  kEmbedding,
  kIndex,
  kCopy,
  kView,
  kAllocation,
  kPooling,
  kLoss,
  kOptimizer,
  kRecurrent,
  kRandom,
  kSort,
  kLinalg,
  kFft,
  kCommunication
};
/// A lookup's gradient as a sparse tensor, whose recorded strides are all 0: a row for each index.
[[nodiscard]] bool has_sparse_result(const OperatorCall& call);
/// "matmul", as et_schema::op_class has it.
[[nodiscard]] std::string_view to_string(Family family);
/// Any operator has one: elementwise where its name tells nothing.
[[nodiscard]] Family family_of(std::string_view op);

/// A product of matrices: batch times m x k by k x n.
struct Product {
  double batch = 1, m = 1, n = 1, k = 1;
  bool operator==(const Product&) const = default;
};

/// The work of a call, told by its name and shapes alone (docs/prediction.md, "Work").
struct Work {
  Family family = Family::kElementwise;
  double flops = 0;
  double read_bytes = 0;
  double write_bytes = 0;
  Product product = {};  ///< of matmul, and of a convolution as implicit product
  bool is_product = false;
  double rows = 1;        ///< independent rows of a row-wise operator
  double row_length = 1;  ///< elements that are taken together
  bool operator==(const Work&) const = default;
};
[[nodiscard]] Work work_of(const OperatorCall& call);
[[nodiscard]] inline double bytes_of(const Work& work) {
  return work.read_bytes + work.write_bytes;
}

/// Adds the results that a call's name and arguments tell, where its record has arguments alone, as
/// Kineto's has: enough for work_of(), not for more. `lists`: lists of integers among the
/// arguments, in their order. What the name does not tell is taken for elementwise: a result as
/// large as its arguments together.
void add_assumed_results(OperatorCall& call, const std::vector<std::vector<std::int64_t>>& lists);

}  // namespace understudy::predictor
