// Lookups, bags, classification losses, searches and Fourier transforms.

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
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

MetaResults taken(const MetaCall& call) {
  return {sized(call.tensor("self"), call.tensor("index").sizes())};
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

/// A classification loss over planes; `reduction` 0 keeps the elements.
MetaResults class_loss(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  const at::Tensor target = call.tensor("target");
  return {call.integer("reduction", 1) == 0 ? sized(self, target.sizes()) : sized(self, {}),
          sized(self, {})};
}

at::ScalarType place_dtype(const MetaCall& call) {
  return call.flag("out_int32") ? at::kInt : at::kLong;
}
MetaResults places(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  return {sized(self, self.sizes(), place_dtype(call))};
}
MetaResults one_place(const MetaCall& call) {
  return {sized(call.first(), {}, place_dtype(call))};
}

MetaResults repeated(const MetaCall& call) {
  TORCH_CHECK(call.has("output_size"),
              "how often elements are repeated depends on what its tensors hold");
  return {sized(call.first(), {call.integer("output_size")})};
}

MetaResults folded_back(const MetaCall& call) {
  return {sized(call.tensor("grad_in"), call.integers("input_sizes"))};
}

/// Returns a transform's layout: transformed dimensions are innermost, the others follow in the
/// order of the input's strides.
at::Tensor transformed(const at::Tensor& self, const std::vector<std::int64_t>& sizes,
                       std::vector<std::int64_t> dims, at::ScalarType dtype) {
  for (std::int64_t& dim : dims) {
    dim = at::maybe_wrap_dim(dim, self.dim());
  }
  std::ranges::sort(dims);
  std::vector<std::int64_t> order;
  for (std::int64_t dim = 0; dim < self.dim(); ++dim) {
    if (!std::ranges::binary_search(dims, dim)) {
      order.push_back(dim);
    }
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::int64_t dim) { return self.stride(dim); });
  order.insert(order.end(), dims.begin(), dims.end());
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    strides[static_cast<std::size_t>(*dim)] = stride;
    stride *= sizes[static_cast<std::size_t>(*dim)];
  }
  return at::empty_strided(sizes, strides, self.options().dtype(dtype));
}

MetaResults fourier(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  return {transformed(self, self.sizes().vec(), call.integers("dim"), self.scalar_type())};
}

MetaResults fourier_of_real(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  const std::vector<std::int64_t> dims = call.integers("dim");
  std::vector<std::int64_t> sizes = self.sizes().vec();
  TORCH_CHECK(!dims.empty(), "no dimension is transformed");
  const auto last = static_cast<std::size_t>(at::maybe_wrap_dim(dims.back(), self.dim()));
  if (call.flag("onesided")) {
    sizes[last] = sizes[last] / 2 + 1;
  }
  return {transformed(self, sizes, dims, c10::toComplexType(self.scalar_type()))};
}

MetaResults real_of_fourier(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  std::vector<std::int64_t> dims = call.integers("dim");
  std::vector<std::int64_t> sizes = self.sizes().vec();
  TORCH_CHECK(!dims.empty(), "no dimension is transformed");
  const auto last = static_cast<std::size_t>(at::maybe_wrap_dim(dims.back(), self.dim()));
  sizes[last] = call.integer("last_dim_size");
  const at::ScalarType dtype = c10::toRealValueType(self.scalar_type());
  if (recorded_on_cpu() && dims.size() > 1) {  // the other dimensions are transformed first
    const std::vector<std::int64_t> others(dims.begin(), dims.end() - 1);
    const at::Tensor halfway = transformed(self, self.sizes().vec(), others, self.scalar_type());
    return {transformed(halfway, sizes, {dims.back()}, dtype)};
  }
  return {transformed(self, sizes, dims, dtype)};
}

constexpr std::array<MetaRow, 15> kRows = {
    {{"index_select", selected},
     {"take", taken},
     {"embedding_dense_backward _embedding_bag_dense_backward", table_gradient},
     {"_embedding_bag", bags_forward},
     {"_embedding_bag_forward_only", bags_alone},
     {"_embedding_bag_backward", bags_backward},
     {"_embedding_bag_per_sample_weights_backward", bag_weight_gradient},
     {"nll_loss2d_forward", class_loss},
     {"searchsorted.Tensor bucketize.Tensor", places},
     {"searchsorted.Scalar bucketize.Scalar", one_place},
     {"repeat_interleave.Tensor", repeated},
     {"unfold_backward", folded_back},
     {"_fft_c2c", fourier},
     {"_fft_r2c", fourier_of_real},
     {"_fft_c2r", real_of_fourier}}};

}  // namespace

std::span<const MetaRow> lookup_meta_rows() {
  return kRows;
}

}  // namespace understudy::replayer
