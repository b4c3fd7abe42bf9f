// Elementwise operators, reductions, and others whose results follow from one argument.

#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/max.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/sum.h>

#include <algorithm>
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

MetaResults in_out(const MetaCall& call) {
  const at::Tensor self = call.first();
  return {broadcast(call.tensor("out"), {self}, self.scalar_type())};
}
MetaResults truth_in_out(const MetaCall& call) {
  const at::Tensor other = call.tensor("other");
  return {other.defined() ? broadcast(call.tensor("out"), {call.first(), other}, at::kBool)
                          : broadcast(call.tensor("out"), {call.first()}, at::kBool)};
}
MetaResults truth(const MetaCall& call) {
  return {broadcast({}, {call.first()}, at::kBool)};
}
MetaResults magnitude(const MetaCall& call) {
  const at::Tensor self = call.first();
  return {broadcast(call.tensor("out"), {self}, real_of(self.scalar_type()))};
}
MetaResults complex_in_out(const MetaCall& call) {
  const bool polar = call.has("abs");
  return {broadcast(call.tensor("out"),
                    {call.tensor(polar ? "abs" : "real"), call.tensor(polar ? "angle" : "imag")},
                    at::kComplexFloat)};
}
MetaResults of_two(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  const at::Tensor other = call.tensor("other");
  return {broadcast(call.tensor("out"), {self, other}, at::result_type(self, other))};
}
MetaResults of_gradient(const MetaCall& call) {
  const at::Tensor grad = call.tensor("grad_output");
  return {broadcast(call.tensor("grad_input"), {grad, call.tensor("self")}, grad.scalar_type())};
}
MetaResults chosen(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  const at::Tensor other = call.tensor("other");
  return {broadcast(call.tensor("out"), {call.tensor("condition"), self, other},
                    at::result_type(self, other))};
}

MetaResults written_like_self(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  at::Tensor out = call.tensor("grad_input");
  out = out.defined() ? out : call.tensor("out");
  if (out.sizes() != self.sizes()) {
    out.resize_(self.sizes());
  }
  return {out};
}

/// A loss of two tensors; `reduction` 0 keeps its elements.
MetaResults loss(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  if (call.integer("reduction", 1) != 0) {
    return {sized(self, {})};
  }
  return {broadcast({}, {self, call.tensor("target")}, self.scalar_type())};
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

MetaResults sum_of_all(const MetaCall& call) {
  const at::Tensor self = call.first();
  const at::ScalarType own =
      c10::isIntegralType(self.scalar_type(), true) ? at::kLong : self.scalar_type();
  return {sized(self, {}, call.dtype("dtype").value_or(own))};
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

MetaResults value_and_place(const MetaCall& call) {
  const auto [value, place] = at::max(call.first(), call.integer("dim", -1), call.flag("keepdim"));
  return {value, place};
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
MetaResults integer_product(const MetaCall& call) {
  return {sized(call.tensor("self"), {call.tensor("self").size(0), call.tensor("mat2").size(1)},
                at::kInt)};
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

MetaResults pooled(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  const std::vector<std::int64_t> planes = call.integers("output_size");
  std::vector<std::int64_t> sizes = self.sizes().vec();
  TORCH_CHECK(planes.size() <= sizes.size(), "more dimensions are pooled than there are");
  std::ranges::copy(planes, sizes.end() - static_cast<std::ptrdiff_t>(planes.size()));
  const at::MemoryFormat order =
      planes.size() == 2 ? self.suggest_memory_format() : at::MemoryFormat::Contiguous;
  return {at::empty(sizes, self.options().memory_format(order))};
}
MetaResults pooled_backward(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  return {self.dim() == 4 ? at::empty_like(self, self.options(), self.suggest_memory_format())
                          : plain(self)};
}

MetaResults padded(const MetaCall& call) {
  const at::Tensor self = call.tensor("self");
  std::vector<std::int64_t> sizes = self.sizes().vec();
  const std::vector<std::int64_t> padding = call.integers("padding");
  for (std::size_t i = 0; i + 1 < padding.size() && i / 2 < sizes.size(); i += 2) {
    sizes[sizes.size() - 1 - i / 2] += padding[i] + padding[i + 1];
  }
  const at::MemoryFormat order =
      recorded_on_cpu() ? self.suggest_memory_format() : at::MemoryFormat::Contiguous;
  return {at::empty(sizes, self.options().memory_format(order))};
}

MetaResults sampled(const MetaCall& call) {
  const at::Tensor input = call.tensor("input");
  std::vector<std::int64_t> sizes = call.tensor("grid").sizes().vec();
  TORCH_CHECK(sizes.size() == static_cast<std::size_t>(input.dim()), "a grid of other dimensions");
  sizes.pop_back();
  sizes.insert(sizes.begin() + 1, input.size(1));
  return {sized(input, sizes)};
}
MetaResults sampled_backward(const MetaCall& call) {
  return {call.wants(0) ? plain(call.tensor("input")) : at::Tensor(), plain(call.tensor("grid"))};
}

MetaResults distances(const MetaCall& call) {
  const at::Tensor one = call.tensor("x1");
  const at::Tensor other = call.tensor("x2");
  std::vector<std::int64_t> sizes =
      at::infer_size(one.sizes().slice(0, one.sizes().size() - 2),
                     other.sizes().slice(0, other.sizes().size() - 2));
  sizes.push_back(one.size(-2));
  sizes.push_back(other.size(-2));
  return {sized(one, sizes)};
}

MetaResults weight_norm(const MetaCall& call) {
  const at::Tensor norm = call.tensor("g");
  return {plain(call.tensor("v")), sized(norm, norm.sizes(), accumulates(norm.scalar_type()))};
}

MetaResults shuffled(const MetaCall& call) {
  at::Tensor out = call.tensor("out");
  return {out.resize_({call.integer("n")})};
}

constexpr std::array<MetaRow, 31> kRows = {
    {{"relu hardtanh hardswish logit rrelu_with_noise poisson binomial _standard_gamma flip "
      "_masked_scale native_dropout_backward _masked_softmax binary_cross_entropy_backward "
      "linalg_matrix_exp pin_memory _pin_memory",
      like_first},
     {"roll", plain_like_first},
     {"mse_loss_backward nll_loss2d_backward glu_backward reflection_pad2d_backward "
      "replication_pad2d_backward replication_pad3d_backward",
      plain_like_self},
     {"dot vdot max min median nanmedian", one_number},
     {"bernoulli.out conj_physical.out nan_to_num.out logit.out hardtanh.out hardswish.out",
      in_out},
     {"logical_and.out logical_or.out logical_xor.out logical_not.out", truth_in_out},
     {"isnan", truth},
     {"abs.out angle angle.out", magnitude},
     {"complex.out polar.out", complex_in_out},
     {"floor_divide floor_divide.out rsub.Tensor __lshift__.Tensor __rshift__.Tensor", of_two},
     {"hardtanh_backward hardswish_backward log_sigmoid_backward hardtanh_backward.grad_input "
      "log_sigmoid_backward.grad_input",
      of_gradient},
     {"where.self where.self_out", chosen},
     {"mse_loss_backward.grad_input smooth_l1_loss_backward.grad_input huber_loss_backward.out "
      "nll_loss2d_backward.grad_input glu_backward.grad_input",
      written_like_self},
     {"binary_cross_entropy huber_loss", loss},
     {"log_sigmoid_forward", log_sigmoid},
     {"native_dropout _fused_dropout", dropout},
     {"prod trace nansum", sum_of_all},
     {"std.correction var.correction std_mean.correction var_mean.correction", variance},
     {"kthvalue.values mode median.dim_values nanmedian.dim_values", value_and_place},
     {"mm.dtype bmm.dtype addmm.dtype baddbmm.dtype _scaled_mm _scaled_mm_v2", matrix_product},
     {"_int_mm", integer_product},
     {"_grouped_mm _scaled_grouped_mm", grouped_product},
     {"multinomial", drawn_classes},
     {"_adaptive_avg_pool2d _adaptive_avg_pool3d", pooled},
     {"_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward", pooled_backward},
     {"reflection_pad2d", padded},
     {"grid_sampler_2d grid_sampler_3d cudnn_grid_sampler", sampled},
     {"grid_sampler_2d_backward grid_sampler_3d_backward", sampled_backward},
     {"_cdist_forward", distances},
     {"_weight_norm_interface", weight_norm},
     {"randperm.generator_out", shuffled}}};

}  // namespace

std::span<const MetaRow> elementwise_meta_rows() {
  return kRows;
}

}  // namespace understudy::replayer
