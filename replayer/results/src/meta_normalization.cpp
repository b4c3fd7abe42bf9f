// Normalizations of batches, layers and groups.

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <array>

#include "meta_call.h"

namespace understudy::replayer {
namespace {

at::Tensor input_of(const MetaCall& call) {
  const at::Tensor input = call.tensor("input");
  return input.defined() ? input : call.tensor("self");
}

/// Returns a dense tensor in the memory format that the strides suggest.
at::Tensor in_order(const at::Tensor& tensor) {
  return at::empty_like(tensor, tensor.options(), tensor.suggest_memory_format());
}

/// Returns the dtype of statistics; on a CPU it is the parameters' dtype, if there are any.
at::ScalarType statistics_dtype(const at::Tensor& input, const at::Tensor& weight) {
  if (!recorded_on_cpu()) {
    return accumulates(input.scalar_type());
  }
  return weight.defined() ? weight.scalar_type() : input.scalar_type();
}

at::Tensor maybe_like(bool wanted, const at::Tensor& tensor) {
  return wanted && tensor.defined() ? plain(tensor) : at::Tensor();
}

MetaResults batch_norm(const MetaCall& call) {
  const at::Tensor input = input_of(call);
  // Operators without an argument `training` count as training.
  const bool trains = call.flag("training", true) || call.flag("train");
  const at::ScalarType dtype = statistics_dtype(input, call.tensor("weight"));
  const std::vector<std::int64_t> sizes = {trains ? input.size(1) : 0};
  MetaResults results = {in_order(input), sized(input, sizes, dtype), sized(input, sizes, dtype)};
  if (call.results() > 3) {  // reserve space of cuDNN's backward
    results.emplace_back(sized(input, {0}, at::kByte));
  }
  return results;
}

/// Gradients of the input, the weight and the bias.
MetaResults batch_norm_backward(const MetaCall& call) {
  const at::Tensor input = input_of(call);
  const at::Tensor weight = call.tensor("weight");
  const at::ScalarType dtype =
      weight.defined() ? weight.scalar_type() : statistics_dtype(input, weight);
  const auto of_channels = [&](std::size_t index) {
    return call.wants(index) ? sized(input, {input.size(1)}, dtype) : at::Tensor();
  };
  return {call.wants(0) ? in_order(input) : at::Tensor(), of_channels(1), of_channels(2)};
}

MetaResults batch_norm_statistics(const MetaCall& call) {
  const at::Tensor input = input_of(call);
  const at::Tensor mean = call.tensor("mean");  // one row per process if statistics are gathered
  const std::int64_t channels = mean.defined() ? mean.size(-1) : input.size(1);
  const at::ScalarType dtype =
      mean.defined() ? mean.scalar_type() : accumulates(input.scalar_type());
  return {sized(input, {channels}, dtype), sized(input, {channels}, dtype)};
}

MetaResults batch_norm_reduce(const MetaCall& call) {
  const at::Tensor input = input_of(call);
  const at::Tensor mean = call.tensor("mean");
  const at::Tensor weight = call.tensor("weight");
  const at::ScalarType dtype = weight.defined() ? weight.scalar_type() : mean.scalar_type();
  const auto part = [&](std::string_view wanted, at::ScalarType type) {
    return call.flag(wanted) ? sized(input, {input.size(1)}, type) : at::Tensor();
  };
  return {part("input_g", mean.scalar_type()), part("input_g", mean.scalar_type()),
          part("weight_g", dtype), part("bias_g", dtype)};
}

MetaResults batch_norm_apply(const MetaCall& call) {
  return {in_order(input_of(call))};
}
MetaResults batch_norm_apply_backward(const MetaCall& call) {
  return {in_order(call.tensor("input"))};
}

/// Returns statistics with one number per normalized row.
at::Tensor row_statistics(const MetaCall& call, const at::Tensor& input, at::ScalarType dtype) {
  std::vector<std::int64_t> sizes = input.sizes().vec();
  const std::size_t normalized = call.integers("normalized_shape").size();
  TORCH_CHECK(normalized <= sizes.size(), "more dimensions are normalized than there are");
  for (std::size_t i = sizes.size() - normalized; i < sizes.size(); ++i) {
    sizes[i] = 1;
  }
  return sized(input, sizes, dtype);
}

MetaResults layer_norm(const MetaCall& call) {
  const at::Tensor input = call.tensor("input");
  const at::ScalarType dtype = statistics_dtype(input, call.tensor("weight"));
  return {plain(input), row_statistics(call, input, dtype), row_statistics(call, input, dtype)};
}

MetaResults layer_norm_backward(const MetaCall& call) {
  return {maybe_like(call.wants(0), call.tensor("input")),
          maybe_like(call.wants(1), call.tensor("weight")),
          maybe_like(call.wants(2), call.tensor("bias"))};
}

MetaResults rms_norm(const MetaCall& call) {
  const at::Tensor input = call.tensor("input");
  return {plain(input), row_statistics(call, input, accumulates(input.scalar_type()))};
}
MetaResults rms_norm_backward(const MetaCall& call) {
  return {maybe_like(call.wants(0), call.tensor("input")),
          maybe_like(call.wants(1), call.tensor("weight"))};
}

MetaResults group_norm(const MetaCall& call) {
  const at::Tensor input = call.tensor("input");
  const std::vector<std::int64_t> sizes = {call.integer("N"), call.integer("group")};
  const at::ScalarType dtype =
      recorded_on_cpu() ? statistics_dtype(input, call.tensor("weight")) : input.scalar_type();
  return {recorded_on_cpu() ? in_order(input) : plain(input), sized(input, sizes, dtype),
          sized(input, sizes, dtype)};
}

MetaResults group_norm_backward(const MetaCall& call) {
  const at::Tensor input = call.tensor("input");
  const at::Tensor weight = call.tensor("weight");
  const at::Tensor model = weight.defined() ? weight : input;
  const auto of_channels = [&](std::size_t index) {
    return call.wants(index) ? sized(model, {call.integer("C")}) : at::Tensor();
  };
  const at::Tensor of_input = recorded_on_cpu() ? in_order(input) : plain(input);
  return {call.wants(0) ? of_input : at::Tensor(), of_channels(1), of_channels(2)};
}

constexpr std::array<MetaRow, 12> kRows = {
    {{"native_batch_norm _native_batch_norm_legit _native_batch_norm_legit.no_stats "
      "cudnn_batch_norm miopen_batch_norm _batch_norm_with_update _batch_norm_no_update",
      batch_norm},
     {"native_batch_norm_backward batch_norm_backward cudnn_batch_norm_backward "
      "miopen_batch_norm_backward",
      batch_norm_backward},
     {"batch_norm_stats batch_norm_update_stats batch_norm_gather_stats "
      "batch_norm_gather_stats_with_counts",
      batch_norm_statistics},
     {"batch_norm_backward_reduce", batch_norm_reduce},
     {"batch_norm_elemt", batch_norm_apply},
     {"batch_norm_backward_elemt", batch_norm_apply_backward},
     {"native_layer_norm", layer_norm},
     {"native_layer_norm_backward", layer_norm_backward},
     {"_fused_rms_norm", rms_norm},
     {"_fused_rms_norm_backward", rms_norm_backward},
     {"native_group_norm", group_norm},
     {"native_group_norm_backward", group_norm_backward}}};

}  // namespace

std::span<const MetaRow> normalization_meta_rows() {
  return kRows;
}

}  // namespace understudy::replayer
