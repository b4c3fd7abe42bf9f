// Elementwise operators, reductions and products.

#include <ATen/TensorIterator.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/sum.h>

#include <array>
#include <initializer_list>

#include "meta_call.h"

namespace understudy::replayer {
namespace {

/// Returns the result of an elementwise operator: the tensors broadcast, in the order of dimensions
/// that TensorIterator chooses. Written to `out` if it is defined.
at::Tensor broadcast(const at::Tensor& out, std::initializer_list<at::Tensor> tensors,
                     at::ScalarType dtype) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).check_all_same_dtype(false).add_output(out);
  for (const at::Tensor& tensor : tensors) {
    config.add_const_input(tensor);
  }
  if (!out.defined()) {
    config.declare_static_dtype_and_device(dtype, at::kMeta);
  }
  return config.build().output();
}

at::ScalarType real_of(at::ScalarType dtype) {
  return c10::isComplexType(dtype) ? c10::toRealValueType(dtype) : dtype;
}

MetaResults like_first(const MetaCall& call) {
  return {like(call.first())};
}
MetaResults plain_like_first(const MetaCall& call) {
  return {plain(call.first())};
}
MetaResults plain_like_self(const MetaCall& call) {
  return {plain(call.tensor("self"))};
}
MetaResults one_number(const MetaCall& call) {
  return {sized(call.first(), {})};
}

MetaResults magnitude(const MetaCall& call) {
  const at::Tensor self = call.first();
  return {broadcast(call.tensor("out"), {self}, real_of(self.scalar_type()))};
}
MetaResults chosen(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  const at::Tensor other = call.tensor("other");
  return {broadcast(call.tensor("out"), {call.tensor("condition"), self, other},
                    at::result_type(self, other))};
}

MetaResults log_sigmoid(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  if (recorded_on_cpu()) {
    return {plain(self), plain(self)};
  }
  return {like(self), sized(self, {0})};
}

MetaResults dropout(const MetaCall& call) {
  const at::Tensor input = call.first();
  const bool fused = call.has("self");
  return {like(input), at::empty_like(input, input.options().dtype(fused ? at::kByte : at::kBool))};
}

MetaResults variance(const MetaCall& call) {
  const at::Tensor self = call.first();
  const std::vector<std::int64_t> dims = call.integers("dim");
  const bool keeps = call.flag("keepdim");
  const auto reduced = [&](at::ScalarType dtype) {
    return at::sum(self, dims.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(dims),
                   keeps, dtype);
  };
  MetaResults results = {reduced(real_of(self.scalar_type()))};
  if (call.results() > 1) {
    results.emplace_back(reduced(self.scalar_type()));
  }
  return results;
}

MetaResults matrix_product(const MetaCall& call) {
  const at::Tensor left = call.has("batch1") ? call.tensor("batch1")
                          : call.has("mat1") ? call.tensor("mat1")
                                             : call.tensor("self");
  const at::Tensor right = call.has("batch2") ? call.tensor("batch2") : call.tensor("mat2");
  std::vector<std::int64_t> sizes = left.sizes().vec();
  sizes.back() = right.size(-1);
  return {sized(left, sizes, call.dtype("out_dtype").value_or(left.scalar_type()))};
}

/// Multiplies each group of rows by its matrix. Rows of the result are aligned to 16 bytes.
MetaResults grouped_product(const MetaCall& call) {
  constexpr std::int64_t kRowBytes = 16;
  const at::Tensor left = call.tensor("self");
  const at::Tensor right = call.tensor("mat2");
  std::vector<std::int64_t> sizes = {left.size(-2), right.size(-1)};
  if (left.dim() == right.dim()) {
    sizes.insert(sizes.begin(), left.dim() == 3 ? left.size(0) : call.tensor("offs").size(0));
  }
  const at::ScalarType dtype = call.dtype("out_dtype").value_or(left.scalar_type());
  const auto elements = kRowBytes / static_cast<std::int64_t>(c10::elementSize(dtype));
  const std::int64_t row = (sizes.back() + elements - 1) / elements * elements;
  std::vector<std::int64_t> strides = {row, 1};
  if (sizes.size() == 3) {
    strides.insert(strides.begin(), row * sizes[1]);
  }
  return {at::empty_strided(sizes, strides, left.options().dtype(dtype))};
}

MetaResults drawn_classes(const MetaCall& call) {
  std::vector<std::int64_t> sizes = call.first().sizes().vec();
  TORCH_CHECK(!sizes.empty(), "nothing to draw from");
  sizes.back() = call.integer("num_samples");
  return {sized(call.first(), sizes, at::kLong)};
}

constexpr std::array<MetaRow, 12> kRows = {
    {{"relu hardtanh hardswish logit rrelu_with_noise poisson binomial _standard_gamma flip "
      "_masked_scale native_dropout_backward _masked_softmax binary_cross_entropy_backward "
      "linalg_matrix_exp pin_memory _pin_memory",
      like_first},
     {"roll", plain_like_first},
     {"mse_loss_backward nll_loss2d_backward glu_backward reflection_pad2d_backward "
      "replication_pad2d_backward replication_pad3d_backward",
      plain_like_self},
     {"dot vdot max min median nanmedian", one_number},
     {"abs.out angle angle.out", magnitude},
     {"where.self where.self_out", chosen},
     {"log_sigmoid_forward", log_sigmoid},
     {"native_dropout _fused_dropout", dropout},
     {"std.correction var.correction std_mean.correction var_mean.correction", variance},
     {"mm.dtype bmm.dtype addmm.dtype baddbmm.dtype _scaled_mm _scaled_mm_v2", matrix_product},
     {"_grouped_mm _scaled_grouped_mm", grouped_product},
     {"multinomial", drawn_classes}}};

}  // namespace

std::span<const MetaRow> elementwise_meta_rows() {
  return kRows;
}

}  // namespace understudy::replayer
