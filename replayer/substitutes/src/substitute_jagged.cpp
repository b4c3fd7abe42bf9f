#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/repeat_interleave.h>

#include <utility>

#include "substitute_table.h"

namespace understudy::replayer {
namespace {

Tensor running_sum(const Tensor& lengths) {
  return at::cumsum(lengths, -1, lengths.scalar_type());
}

Tensor with_leading_zero(const Tensor& sums) {
  return at::constant_pad_nd(sums, {1, 0});
}

/// Returns the index in the values of each element of the permuted segments.
Tensor sources(const Tensor& permute, const Tensor& segments, std::int64_t values) {
  const Tensor lengths = segments.to(at::kLong);
  TORCH_CHECK(lengths.sum().item<std::int64_t>() == values, "lengths add up to ",
              lengths.sum().item<std::int64_t>(), " but there are ", values, " values");
  const Tensor moved = lengths.index_select(0, permute);
  const Tensor starts = (running_sum(lengths) - lengths).index_select(0, permute);
  const Tensor shift = starts - (running_sum(moved) - moved);
  const Tensor element = at::repeat_interleave(shift, moved, 0);
  return element + at::arange(element.numel(), element.options());
}

/// The segments are rows of the lengths in 2D, single lengths in 1D.
Results permute_sparse_data(const Tensor& permute, const Tensor& lengths, const Tensor& values,
                            const Tensor& weights) {
  const Tensor segments = lengths.dim() == 1 ? lengths : lengths.to(at::kLong).flatten(1).sum(1);
  const Tensor order = permute.to(at::kLong);
  const Tensor from = sources(order, segments, values.numel());
  return {lengths.index_select(0, order), values.index_select(0, from),
          weights.defined() ? weights.index_select(0, from) : Tensor()};
}

Results complete_cumsum(const Tensor& lengths) {
  return {with_leading_zero(running_sum(lengths))};
}

Results inclusive_cumsum(const Tensor& lengths) {
  return {running_sum(lengths)};
}

Results exclusive_cumsum(const Tensor& lengths) {
  return {running_sum(lengths) - lengths};
}

/// Sets indices outside of their table to 0 and counts them in `warning`; limits offsets to the
/// indices. In fbgemm's mode 0 an index outside is an error.
Results bounds_check_indices(const Tensor& rows_per_table, Tensor indices, Tensor offsets,
                             std::int64_t mode, const Tensor& warning) {
  const std::int64_t tables = rows_per_table.numel();
  TORCH_CHECK(tables > 0 && (offsets.numel() - 1) % tables == 0, offsets.numel(),
              " offsets do not fit ", tables, " tables");
  const std::int64_t batch = (offsets.numel() - 1) / tables;
  offsets.clamp_(0, indices.numel());
  offsets.narrow(0, 0, 1).zero_();
  offsets.narrow(0, offsets.numel() - 1, 1).fill_(indices.numel());
  // An empty batch has one boundary and no segments.
  if (batch == 0 || indices.numel() == 0) {
    return {};
  }
  const Tensor ends = offsets.slice(0, 0, std::nullopt, batch).to(at::kLong);
  const Tensor rows = at::repeat_interleave(rows_per_table, ends.diff(), 0);
  const Tensor outside = (indices < -1).logical_or(indices >= rows);
  constexpr std::int64_t kFatal = 0;
  TORCH_CHECK(mode != kFatal || !outside.any().item<bool>(), "an index is outside of its table");
  indices.masked_fill_(outside, 0);
  if (warning.defined()) {
    warning.add_(outside.sum());
  }
  return {};
}

constexpr std::string_view kSum = "aten::cumsum";

constexpr SubstituteRow kRows[] = {
    {"fbgemm::permute_2D_sparse_data fbgemm::permute_1D_sparse_data fbgemm::permute_sparse_data",
     "aten::index_select", "permute lengths values weights?", unpacked<permute_sparse_data>},
    {"fbgemm::asynchronous_complete_cumsum", kSum, "t_in", unpacked<complete_cumsum>},
    {"fbgemm::asynchronous_inclusive_cumsum", kSum, "t_in", unpacked<inclusive_cumsum>},
    {"fbgemm::asynchronous_exclusive_cumsum", kSum, "t_in", unpacked<exclusive_cumsum>},
    {"fbgemm::bounds_check_indices", "aten::masked_fill_ and comparisons",
     "rows_per_table indices offsets bounds_check_mode warning", unpacked<bounds_check_indices>},
};

}  // namespace

std::span<const SubstituteRow> jagged_rows() {
  return kRows;
}

}  // namespace understudy::replayer
