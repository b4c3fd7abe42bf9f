#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/calls/call.h"

namespace understudy::predictor {

/// Operators with similar kernels: et_schema::op_class's classes, and layers of experts.
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
  kCommunication,
  kExperts
};
/// Returns true for a lookup's sparse gradient, which has a row for each index. Its recorded
/// strides are all 0.
[[nodiscard]] bool has_sparse_result(const OperatorCall& call);
/// Returns the name: "matmul".
[[nodiscard]] std::string_view to_string(Family family);
/// Returns an operator's family; elementwise if its name does not decide.
[[nodiscard]] Family family_of(std::string_view op);

/// A matrix product: batch times (m x k) by (k x n).
struct Product {
  double batch = 1, m = 1, n = 1, k = 1;
  bool operator==(const Product&) const = default;
};

/// An attention. Prefill has as many queries as keys, decode has one.
struct Attention {
  double sequences = 1;    ///< of the batch
  double batch_heads = 1;  ///< sequences times heads of the query
  double queries = 1, keys = 1, width = 1;
  double heads_of_key = 1;    ///< heads of the query that share one of keys and values
  double key_item_bytes = 2;  ///< of keys and values, which caches may hold in another type
  bool operator==(const Attention&) const = default;
};

/// A mixture-of-experts layer: two grouped products of the tokens that are routed to each expert.
struct Experts {
  double tokens = 1, chosen = 1;  ///< tokens of the layer, and experts that each token goes to
  double experts = 1;             ///< of this rank
  double hidden = 1, inner = 1;   ///< widths of a token and between the products
  double hit = 1;                 ///< experts that have a token, if tokens are spread evenly
  double weight_bytes = 0;        ///< of the experts that are hit
  bool operator==(const Experts&) const = default;
};

/// The work of a call, derived from its name and shapes only (docs/prediction.md, "Work").
struct Work {
  Family family = Family::kElementwise;
  double flops = 0;
  double read_bytes = 0;
  double write_bytes = 0;
  Product product = {};  ///< matmul, or a convolution as implicit product
  bool is_product = false;
  std::optional<Attention> attention = {};
  std::optional<Experts> experts = {};
  double rows = 1;             ///< independent rows of a row-wise operator
  double row_length = 1;       ///< elements per row, processed together
  bool counted_flops = false;  ///< counters of a measured call, not shapes, give `flops`
  bool counted_bytes = false;
  bool operator==(const Work&) const = default;
};
[[nodiscard]] Work work_of(const OperatorCall& call);
/// Returns the type whose peak applies: that of the first floating-point tensor, of experts that of
/// their weights; otherwise float32.
[[nodiscard]] DType compute_dtype(const OperatorCall& call);
/// Returns work_of(), with the operations ("flop", "tensor_flop") and bytes ("dram_bytes") that the
/// counters measured. A counter of 0 is ignored, because a cache may have served the call.
[[nodiscard]] Work measured_work(const OperatorCall& call, const et_schema::Counters& counters);

/// Counted ÷ computed work of an operator's calls on a device; 1 if not counted.
struct CountedShare {
  double flops = 1;
  double bytes = 1;
};
using CountedShares = std::map<std::string, CountedShare>;  ///< by operator, "aten::add.Tensor"
[[nodiscard]] CountedShares counted_shares(const std::vector<const MeasuredCall*>& calls);
/// Returns measured_work(). What this call's counters lack is work_of() times the operator's share.
[[nodiscard]] Work measured_work(const OperatorCall& call, const et_schema::Counters& counters,
                                 const CountedShares& shares);
[[nodiscard]] inline double bytes_of(const Work& work) {
  return work.read_bytes + work.write_bytes;
}

/// Adds results inferred from the call's name and arguments, because Kineto records arguments only.
/// They suffice for work_of() only. `lists` are the integer lists among the arguments, in order.
/// Unknown operators count as elementwise: the result is broadcast from the arguments.
void add_assumed_results(OperatorCall& call, const std::vector<std::vector<std::int64_t>>& lists);

}  // namespace understudy::predictor
