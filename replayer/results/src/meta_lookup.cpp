// Lookups and bags.

#include <ATen/WrapDimUtils.h>

#include <array>

#include "meta_call.h"

namespace understudy::replayer {
namespace {

constexpr std::int64_t kMean = 1;
constexpr std::int64_t kMax = 2;

MetaResults selected(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  std::vector<std::int64_t> sizes = self.sizes().vec();
  if (!sizes.empty()) {
    const std::int64_t dim = at::maybe_wrap_dim(call.integer("dim"), self.dim());
    sizes[static_cast<std::size_t>(dim)] = call.tensor("index").numel();
  }
  return {sized(self, sizes)};
}

MetaResults table_gradient(const MetaCall& call) {
  const at::Tensor grad =
      call.has("grad_output") ? call.tensor("grad_output") : call.tensor("grad");
  return {sized(grad, {call.integer("num_weights"), grad.size(-1)})};
}

/// Returns true if a CPU sums bags without recording the bag of each row.
bool sums_at_once(const MetaCall& call) {
  const at::Tensor weight = call.tensor("weight");
  const at::Tensor scale = call.tensor("per_sample_weights");
  const at::ScalarType dtype = weight.scalar_type();
  return call.integer("mode") != kMax && call.integer("mode") != kMean &&
         (dtype == at::kFloat || dtype == at::kHalf) && weight.stride(1) == 1 &&
         call.integer("padding_idx", -1) < 0 && (!scale.defined() || scale.stride(0) == 1);
}

/// Returns the sums, and the data of the backward: each row's bag, the bags' sizes, the rows of
/// maxima.
MetaResults bags(const MetaCall& call, bool has_backward) {
  const at::Tensor weight = call.tensor("weight");
  const at::Tensor indices = call.tensor("indices");
  const at::Tensor offsets = call.tensor("offsets");
  const bool is_max = call.integer("mode") == kMax;
  const std::int64_t count = offsets.size(0) - (call.flag("include_last_offset") ? 1 : 0);
  const std::vector<std::int64_t> sums = {count, weight.size(1)};
  if (!recorded_on_cpu()) {
    return {sized(weight, sums), sized(indices, {indices.size(0)}),
            sized(indices, {offsets.size(0)}), is_max ? sized(indices, sums) : sized(indices, {0})};
  }
  return {sized(weight, sums), sized(offsets, {sums_at_once(call) ? 0 : indices.size(0)}),
          sized(offsets, {has_backward ? count : offsets.size(0)}),
          is_max ? sized(offsets, sums) : sized(offsets, {count})};
}
MetaResults bags_forward(const MetaCall& call) {
  return bags(call, true);
}
MetaResults bags_alone(const MetaCall& call) {
  return bags(call, false);
}

MetaResults bags_backward(const MetaCall& call) {
  TORCH_CHECK(!call.flag("sparse"), "the number of elements of a sparse gradient is the bags' own");
  return table_gradient(call);
}

MetaResults bag_weight_gradient(const MetaCall& call) {
  return {sized(call.tensor("grad"), {call.tensor("indices").size(0)})};
}

MetaResults repeated(const MetaCall& call) {
  TORCH_CHECK(call.has("output_size"),
              "how often elements are repeated depends on what its tensors hold");
  return {sized(call.first(), {call.integer("output_size")})};
}

constexpr std::array<MetaRow, 7> kRows = {
    {{"index_select", selected},
     {"embedding_dense_backward _embedding_bag_dense_backward", table_gradient},
     {"_embedding_bag", bags_forward},
     {"_embedding_bag_forward_only", bags_alone},
     {"_embedding_bag_backward", bags_backward},
     {"_embedding_bag_per_sample_weights_backward", bag_weight_gradient},
     {"repeat_interleave.Tensor", repeated}}};

}  // namespace

std::span<const MetaRow> lookup_meta_rows() {
  return kRows;
}

}  // namespace understudy::replayer
