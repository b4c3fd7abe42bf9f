#include <ATen/ops/_chunk_cat.h>
#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_ctc_loss_backward.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/affine_grid_generator.h>
#include <ATen/ops/affine_grid_generator_backward.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/grid_sampler_2d_backward.h>
#include <ATen/ops/native_dropout.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <utility>

#include "replayer/values/values.h"
#include "stub.h"
#include "substitute_table.h"

namespace understudy::replayer {
namespace {

// --- dropout ---

/// The recorded operator's probability is that of keeping an element, and its mask holds bytes.
Results fused_dropout(const Tensor& input, double keep) {
  auto [output, mask] = at::native_dropout(input, 1 - keep, /*train=*/true);
  return {std::move(output), mask.to(at::kByte)};
}

Results masked_scale(const Tensor& input, const Tensor& mask, double scale) {
  return {input * mask.to(input.scalar_type()) * scale};
}

/// Makes the state of a random number generator from drawn bytes.
Results dropout_state(const Fillers& fillers) {
  Tensor state = fillers.make(0, at::kCPU);
  if (state.defined() && state.scalar_type() == at::kByte) {
    fill_tensor(state, default_rule(at::ScalarType::Bits8, state.sizes()), {});
  }
  return {state};
}

// --- operators of older releases ---

Results softmax_backward(const Tensor& grad_output, const Tensor& output, std::int64_t dim,
                         const Tensor& input) {
  return {at::_softmax_backward_data(grad_output, output, dim, input.scalar_type())};
}

Results log_softmax_backward(const Tensor& grad_output, const Tensor& output, std::int64_t dim,
                             const Tensor& input) {
  return {at::_log_softmax_backward_data(grad_output, output, dim, input.scalar_type())};
}

Results concatenate(const std::vector<Tensor>& tensors, std::int64_t dim) {
  return {at::cat(tensors, dim)};
}

Results select_where(const Tensor& condition, const Tensor& self, const Tensor& other) {
  return {at::where(condition, self, other)};
}

// --- cuDNN's spatial transformer and CTC loss ---

constexpr std::int64_t kBilinear = 0;
constexpr std::int64_t kZeroPadding = 0;

Results grid_sampler(const Tensor& input, const Tensor& grid) {
  return {at::grid_sampler_2d(input, grid, kBilinear, kZeroPadding, /*align_corners=*/true)};
}

Results grid_sampler_backward(const Tensor& input, const Tensor& grid, const Tensor& grad_output) {
  auto [grad_input, grad_grid] =
      at::grid_sampler_2d_backward(grad_output, input, grid, kBilinear, kZeroPadding,
                                   /*align_corners=*/true, {true, true});
  return {std::move(grad_input), std::move(grad_grid)};
}

Results affine_grid(const Tensor& theta, std::int64_t n, std::int64_t c, std::int64_t h,
                    std::int64_t w) {
  return {at::affine_grid_generator(theta, {n, c, h, w}, /*align_corners=*/true)};
}

Results affine_grid_backward(const Tensor& grad, std::int64_t n, std::int64_t c, std::int64_t h,
                             std::int64_t w) {
  return {at::affine_grid_generator_backward(grad, {n, c, h, w}, /*align_corners=*/true)};
}

/// cuDNN returns the gradient together with the loss.
Results ctc_loss(const Tensor& log_probs, const Tensor& targets,
                 const std::vector<std::int64_t>& input_lengths,
                 const std::vector<std::int64_t>& target_lengths, std::int64_t blank,
                 bool zero_infinity) {
  const auto [loss, alpha] =
      at::_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity);
  return {loss, at::_ctc_loss_backward(at::ones_like(loss), log_probs, targets, input_lengths,
                                       target_lengths, loss, alpha, blank, zero_infinity)};
}

// --- memory ---

Results clone(const Tensor& tensor) {
  return {tensor.clone()};
}
Results not_pinned() {
  return {false};
}

Results rewritten(Tensor tensor) {
  rewrite_bytes(tensor);
  return {std::move(tensor)};
}

// --- copies of fully sharded data parallel, which only Python registers ---

Results copy_in(const std::vector<Tensor>& inputs, const Tensor& output,
                const std::vector<std::int64_t>& sizes, std::int64_t elements, std::int64_t rank) {
  const Tensor own = output.narrow(0, elements * rank, elements);
  const std::vector<Tensor> parts = own.split_with_sizes(sizes);
  TORCH_CHECK(parts.size() == inputs.size(), inputs.size(), " inputs for ", parts.size(), " parts");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].copy_(inputs[i].view(parts[i].sizes()));
  }
  return {own, output};
}

Results copy_out(const Tensor& gathered, const std::vector<std::int64_t>& sizes, std::int64_t dim,
                 const std::vector<Tensor>& outputs) {
  const std::vector<Tensor> parts = gathered.split_with_sizes(sizes, dim);
  TORCH_CHECK(parts.size() == outputs.size(), outputs.size(), " outputs for ", parts.size(),
              " parts");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    outputs[i].copy_(parts[i].view_as(outputs[i]));
  }
  return {};
}

Results chunk_cat(const std::vector<Tensor>& tensors, std::int64_t dim, std::int64_t chunks,
                  Tensor output) {
  at::_chunk_cat_out(output, tensors, dim, chunks);
  return {};
}

constexpr SubstituteRow kRows[] = {
    {"aten::_fused_dropout", "aten::native_dropout", "self p", unpacked<fused_dropout>},
    {"aten::_masked_scale", "aten::mul", "self mask scale", unpacked<masked_scale>},
    {"aten::_cudnn_init_dropout_state", "drawn bytes in the recorded layout", "",
     unpacked<dropout_state>, Rung::kStubbed},
    {"aten::_softmax_backward_data", "aten::_softmax_backward_data with a dtype",
     "grad_output output dim self", unpacked<softmax_backward>},
    {"aten::_log_softmax_backward_data", "aten::_log_softmax_backward_data with a dtype",
     "grad_output output dim self", unpacked<log_softmax_backward>},
    {"aten::_cat", "aten::cat", "tensors dim", unpacked<concatenate>},
    {"aten::_s_where", "aten::where", "condition self other", unpacked<select_where>},
    {"aten::cudnn_grid_sampler", "aten::grid_sampler_2d", "self grid", unpacked<grid_sampler>},
    {"aten::cudnn_grid_sampler_backward", "aten::grid_sampler_2d_backward", "self grid grad_output",
     unpacked<grid_sampler_backward>},
    {"aten::cudnn_affine_grid_generator", "aten::affine_grid_generator", "theta N C H W",
     unpacked<affine_grid>},
    {"aten::cudnn_affine_grid_generator_backward", "aten::affine_grid_generator_backward",
     "grad N C H W", unpacked<affine_grid_backward>},
    {"aten::_cudnn_ctc_loss", "aten::_ctc_loss and its backward",
     "log_probs targets input_lengths target_lengths blank zero_infinity", unpacked<ctc_loss>},
    {"aten::pin_memory aten::_pin_memory", "aten::clone", "self", unpacked<clone>},
    {"aten::is_pinned", "no", "", unpacked<not_pinned>},
    {"symm_mem::one_shot_all_reduce", "a local copy", "input", unpacked<clone>, Rung::kStubbed},
    {"symm_mem::two_shot_all_reduce_ symm_mem::multimem_all_reduce_",
     "its input read and written in place", "input", unpacked<rewritten>, Rung::kStubbed},
    {"fsdp::all_gather_copy_in", "aten::copy_ for each input",
     "all_gather_inputs all_gather_output inp_split_sizes all_gather_input_numel rank",
     unpacked<copy_in>},
    {"fsdp::split_with_sizes_copy", "aten::copy_ for each output",
     "all_gather_output all_gather_input_split_sizes dim? out", unpacked<copy_out>},
    {"fsdp::chunk_cat", "aten::_chunk_cat", "tensors dim num_chunks out", unpacked<chunk_cat>},
};

}  // namespace

std::span<const SubstituteRow> other_rows() {
  return kRows;
}

}  // namespace understudy::replayer
