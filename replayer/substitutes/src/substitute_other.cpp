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

using Results = std::vector<c10::IValue>;

// --- dropout ---

/// Its probability is that of keeping an element, and its mask is of bytes.
Results fused_dropout(Inputs& in, const Fillers&) {
  const at::Tensor input = in.tensor();
  const double keep = in.number();
  auto [output, mask] = at::native_dropout(input, 1 - keep, /*train=*/true);
  return {std::move(output), mask.to(at::kByte)};
}

Results masked_scale(Inputs& in, const Fillers&) {
  const at::Tensor input = in.tensor();
  const at::Tensor mask = in.tensor();
  const double scale = in.number();
  return {input * mask.to(input.scalar_type()) * scale};
}

/// The state of a generator of random numbers: bytes, all of them alike.
Results dropout_state(Inputs&, const Fillers& fillers) {
  at::Tensor state = fillers.make(0, at::kCPU);
  if (state.defined() && state.scalar_type() == at::kByte) {
    fill_tensor(state, default_rule(at::ScalarType::Bits8, state.sizes()), {});
  }
  return {state};
}

// --- operators of older releases ---

Results softmax_backward(Inputs& in, const Fillers&) {
  const at::Tensor grad_output = in.tensor();
  const at::Tensor output = in.tensor();
  const std::int64_t dim = in.integer();
  const at::Tensor input = in.tensor();
  return {at::_softmax_backward_data(grad_output, output, dim, input.scalar_type())};
}

Results log_softmax_backward(Inputs& in, const Fillers&) {
  const at::Tensor grad_output = in.tensor();
  const at::Tensor output = in.tensor();
  const std::int64_t dim = in.integer();
  const at::Tensor input = in.tensor();
  return {at::_log_softmax_backward_data(grad_output, output, dim, input.scalar_type())};
}

Results concatenate(Inputs& in, const Fillers&) {
  const std::vector<at::Tensor> tensors = in.tensors();
  return {at::cat(tensors, in.integer())};
}

Results select_where(Inputs& in, const Fillers&) {
  const at::Tensor condition = in.tensor();
  const at::Tensor self = in.tensor();
  const at::Tensor other = in.tensor();
  return {at::where(condition, self, other)};
}

// --- cuDNN's spatial transformer and CTC loss ---

constexpr std::int64_t kBilinear = 0;
constexpr std::int64_t kZeroPadding = 0;

Results grid_sampler(Inputs& in, const Fillers&) {
  const at::Tensor input = in.tensor();
  const at::Tensor grid = in.tensor();
  return {at::grid_sampler_2d(input, grid, kBilinear, kZeroPadding, /*align_corners=*/true)};
}

Results grid_sampler_backward(Inputs& in, const Fillers&) {
  const at::Tensor input = in.tensor();
  const at::Tensor grid = in.tensor();
  const at::Tensor grad_output = in.tensor();
  auto [grad_input, grad_grid] =
      at::grid_sampler_2d_backward(grad_output, input, grid, kBilinear, kZeroPadding,
                                   /*align_corners=*/true, {true, true});
  return {std::move(grad_input), std::move(grad_grid)};
}

std::vector<std::int64_t> four(Inputs& in) {
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 4; ++i) {
    sizes.push_back(in.integer());
  }
  return sizes;
}

Results affine_grid(Inputs& in, const Fillers&) {
  const at::Tensor theta = in.tensor();
  return {at::affine_grid_generator(theta, four(in), /*align_corners=*/true)};
}

Results affine_grid_backward(Inputs& in, const Fillers&) {
  const at::Tensor grad = in.tensor();
  return {at::affine_grid_generator_backward(grad, four(in), /*align_corners=*/true)};
}

/// cuDNN gives the gradient together with the loss.
Results ctc_loss(Inputs& in, const Fillers&) {
  const at::Tensor log_probs = in.tensor();
  const at::Tensor targets = in.tensor();
  const std::vector<std::int64_t> input_lengths = in.integers();
  const std::vector<std::int64_t> target_lengths = in.integers();
  const std::int64_t blank = in.integer();
  const bool zero_infinity = in.flag();
  const auto [loss, alpha] =
      at::_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity);
  return {loss, at::_ctc_loss_backward(at::ones_like(loss), log_probs, targets, input_lengths,
                                       target_lengths, loss, alpha, blank, zero_infinity)};
}

// --- memory ---

Results clone(Inputs& in, const Fillers&) {
  return {in.tensor().clone()};
}
Results not_pinned(Inputs&, const Fillers&) {
  return {false};
}

Results rewritten(Inputs& in, const Fillers&) {
  at::Tensor tensor = in.tensor();
  rewrite_bytes(tensor);
  return {std::move(tensor)};
}

// --- copies of fully sharded data parallel, which only Python registers ---

Results copy_in(Inputs& in, const Fillers&) {
  const std::vector<at::Tensor> inputs = in.tensors();
  const at::Tensor output = in.tensor();
  const std::vector<std::int64_t> sizes = in.integers();
  const std::int64_t elements = in.integer();
  const std::int64_t rank = in.integer();
  const at::Tensor own = output.narrow(0, elements * rank, elements);
  const std::vector<at::Tensor> parts = own.split_with_sizes(sizes);
  TORCH_CHECK(parts.size() == inputs.size(), inputs.size(), " inputs for ", parts.size(), " parts");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].copy_(inputs[i].view(parts[i].sizes()));
  }
  return {own, output};
}

Results copy_out(Inputs& in, const Fillers&) {
  const at::Tensor gathered = in.tensor();
  const std::vector<std::int64_t> sizes = in.integers();
  const std::int64_t dim = in.integer();
  const std::vector<at::Tensor> outputs = in.tensors();
  const std::vector<at::Tensor> parts = gathered.split_with_sizes(sizes, dim);
  TORCH_CHECK(parts.size() == outputs.size(), outputs.size(), " outputs for ", parts.size(),
              " parts");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    outputs[i].copy_(parts[i].view_as(outputs[i]));
  }
  return {};
}

Results chunk_cat(Inputs& in, const Fillers&) {
  const std::vector<at::Tensor> tensors = in.tensors();
  const std::int64_t dim = in.integer();
  const std::int64_t chunks = in.integer();
  at::Tensor output = in.tensor();
  at::_chunk_cat_out(output, tensors, dim, chunks);
  return {};
}

constexpr SubstituteRow kRows[] = {
    {"aten::_fused_dropout", "aten::native_dropout", "self p", fused_dropout},
    {"aten::_masked_scale", "aten::mul", "self mask scale", masked_scale},
    {"aten::_cudnn_init_dropout_state", "drawn bytes in the recorded layout", "", dropout_state,
     Rung::kStubbed},
    {"aten::_softmax_backward_data", "aten::_softmax_backward_data with a dtype",
     "grad_output output dim self", softmax_backward},
    {"aten::_log_softmax_backward_data", "aten::_log_softmax_backward_data with a dtype",
     "grad_output output dim self", log_softmax_backward},
    {"aten::_cat", "aten::cat", "tensors dim", concatenate},
    {"aten::_s_where", "aten::where", "condition self other", select_where},
    {"aten::cudnn_grid_sampler", "aten::grid_sampler_2d", "self grid", grid_sampler},
    {"aten::cudnn_grid_sampler_backward", "aten::grid_sampler_2d_backward", "self grid grad_output",
     grid_sampler_backward},
    {"aten::cudnn_affine_grid_generator", "aten::affine_grid_generator", "theta N C H W",
     affine_grid},
    {"aten::cudnn_affine_grid_generator_backward", "aten::affine_grid_generator_backward",
     "grad N C H W", affine_grid_backward},
    {"aten::_cudnn_ctc_loss", "aten::_ctc_loss and its backward",
     "log_probs targets input_lengths target_lengths blank zero_infinity", ctc_loss},
    {"aten::pin_memory", "aten::clone", "self", clone},
    {"aten::_pin_memory", "aten::clone", "self", clone},
    {"aten::is_pinned", "no", "", not_pinned},
    {"symm_mem::one_shot_all_reduce", "a local copy", "input", clone, Rung::kStubbed},
    {"symm_mem::two_shot_all_reduce_", "its input read and written in place", "input", rewritten,
     Rung::kStubbed},
    {"symm_mem::multimem_all_reduce_", "its input read and written in place", "input", rewritten,
     Rung::kStubbed},
    {"fsdp::all_gather_copy_in", "aten::copy_ for each input",
     "all_gather_inputs all_gather_output inp_split_sizes all_gather_input_numel rank", copy_in},
    {"fsdp::split_with_sizes_copy", "aten::copy_ for each output",
     "all_gather_output all_gather_input_split_sizes dim? out", copy_out},
    {"fsdp::chunk_cat", "aten::_chunk_cat", "tensors dim num_chunks out", chunk_cat},
};

}  // namespace

std::span<const SubstituteRow> other_rows() {
  return kRows;
}

}  // namespace understudy::replayer
