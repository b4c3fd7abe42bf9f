#include <ATen/ops/_chunk_cat.h>
#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_ctc_loss_backward.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/grid_sampler_2d_backward.h>
#include <ATen/ops/ones_like.h>

#include <utility>

#include "replayer/values/values.h"
#include "stub.h"
#include "substitute_table.h"

namespace understudy::replayer {
namespace {

// --- dropout ---

/// Makes the state of a random number generator from drawn bytes.
Results dropout_state(const Fillers& fillers) {
  Tensor state = fillers.make(0, at::kCPU);
  if (state.defined() && state.scalar_type() == at::kByte) {
    fill_tensor(state, default_rule(at::ScalarType::Bits8, state.sizes()), {});
  }
  return {state};
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
    {"aten::_cudnn_init_dropout_state", "drawn bytes in the recorded layout", "",
     unpacked<dropout_state>, Rung::kStubbed},
    {"aten::cudnn_grid_sampler", "aten::grid_sampler_2d", "self grid", unpacked<grid_sampler>},
    {"aten::cudnn_grid_sampler_backward", "aten::grid_sampler_2d_backward", "self grid grad_output",
     unpacked<grid_sampler_backward>},
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
