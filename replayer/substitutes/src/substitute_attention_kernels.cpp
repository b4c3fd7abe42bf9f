#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "substitute_attention.h"
#include "substitute_lookup.h"
#include "substitute_table.h"

namespace understudy::replayer {
namespace {

using Results = std::vector<c10::IValue>;

// The kernels below the scaled dot product operators take (batch, length, heads, width), or all
// sequences in one dimension with their cumulative lengths.

/// (batch, length, heads, width) ↔ (batch, heads, length, width)
at::Tensor swapped(const at::Tensor& tensor) {
  return tensor.transpose(1, 2);
}

struct Sequence {
  std::int64_t query_begin = 0;
  std::int64_t query_length = 0;
  std::int64_t key_begin = 0;
  std::int64_t key_length = 0;
};

std::vector<Sequence> sequences(const at::Tensor& queries, const at::Tensor& keys,
                                const Attention& packed) {
  const std::vector<std::int64_t> query_ends = to_host(queries);
  const std::vector<std::int64_t> key_ends = to_host(keys);
  TORCH_CHECK(query_ends.size() == key_ends.size() && !query_ends.empty(), "cum_seq_q has ",
              query_ends.size(), " elements, cum_seq_k ", key_ends.size());
  TORCH_CHECK(query_ends.back() <= packed.query.size(0) && key_ends.back() <= packed.key.size(0),
              "cumulative lengths go beyond the sequences");
  std::vector<Sequence> result;
  for (std::size_t i = 0; i + 1 < query_ends.size(); ++i) {
    result.push_back({.query_begin = query_ends[i],
                      .query_length = query_ends[i + 1] - query_ends[i],
                      .key_begin = key_ends[i],
                      .key_length = key_ends[i + 1] - key_ends[i]});
  }
  return result;
}

/// (length, heads, width) of all sequences → (1, heads, length, width) of one.
at::Tensor one_query(const at::Tensor& packed, const Sequence& sequence) {
  return swapped(packed.narrow(0, sequence.query_begin, sequence.query_length).unsqueeze(0));
}
at::Tensor one_key(const at::Tensor& packed, const Sequence& sequence) {
  return swapped(packed.narrow(0, sequence.key_begin, sequence.key_length).unsqueeze(0));
}

Attention one(const Attention& packed, const Sequence& sequence) {
  Attention attention = packed;
  attention.query = one_query(packed.query, sequence);
  attention.key = one_key(packed.key, sequence);
  attention.value = one_key(packed.value, sequence);
  return attention;
}

Attention dense(const Attention& packed) {
  Attention attention = packed;
  attention.query = swapped(packed.query);
  attention.key = swapped(packed.key);
  attention.value = swapped(packed.value);
  return attention;
}

struct FlashInputs {
  Attention packed;
  at::Tensor query_ends;
  at::Tensor key_ends;
};

FlashInputs read_flash(Inputs& in) {
  FlashInputs inputs;
  inputs.packed.query = in.tensor();
  inputs.packed.key = in.tensor();
  inputs.packed.value = in.tensor();
  inputs.query_ends = in.tensor();
  inputs.key_ends = in.tensor();
  inputs.packed.causal = in.flag();
  inputs.packed.scale = in.maybe_number();
  return inputs;
}

AttentionOutput attend_packed(const FlashInputs& inputs) {
  const at::Tensor output = at::empty_like(inputs.packed.query);
  std::vector<at::Tensor> logs;
  for (const Sequence& sequence : sequences(inputs.query_ends, inputs.key_ends, inputs.packed)) {
    const AttentionOutput part = attend(one(inputs.packed, sequence));
    output.narrow(0, sequence.query_begin, sequence.query_length)
        .copy_(swapped(part.output).squeeze(0));
    logs.push_back(part.logsumexp.squeeze(0));
  }
  return {output, at::cat(logs, 1)};
}

Results flash(Inputs& in, const Fillers& fillers) {
  const FlashInputs inputs = read_flash(in);
  AttentionOutput output;
  if (inputs.query_ends.defined()) {
    output = attend_packed(inputs);
  } else {
    output = attend(dense(inputs.packed));
    output.output = swapped(output.output);
  }
  const at::Device device = inputs.packed.query.device();
  return {output.output, in_recorded_layout(output.logsumexp, fillers.layout(1)),
          fillers.make(2, device), fillers.make(3, device), fillers.make(4, device)};
}

Results flash_backward(Inputs& in, const Fillers&) {
  const at::Tensor grad_output = in.tensor();
  const at::Tensor output = in.tensor();
  const at::Tensor logsumexp = in.tensor();
  const FlashInputs inputs = read_flash(in);
  const Attention& packed = inputs.packed;
  if (!inputs.query_ends.defined()) {
    const AttentionGradients gradients =
        attend_backward(dense(packed), swapped(grad_output), swapped(output), logsumexp, false);
    return {swapped(gradients.query), swapped(gradients.key), swapped(gradients.value)};
  }
  const at::Tensor query = at::zeros_like(packed.query);
  const at::Tensor key = at::zeros_like(packed.key);
  const at::Tensor value = at::zeros_like(packed.value);
  for (const Sequence& sequence : sequences(inputs.query_ends, inputs.key_ends, packed)) {
    const at::Tensor log =
        logsumexp.narrow(1, sequence.query_begin, sequence.query_length).unsqueeze(0);
    const AttentionGradients part =
        attend_backward(one(packed, sequence), one_query(grad_output, sequence),
                        one_query(output, sequence), log, false);
    one_query(query, sequence).copy_(part.query);
    one_key(key, sequence).copy_(part.key);
    one_key(value, sequence).copy_(part.value);
  }
  return {query, key, value};
}

/// Whether the mask kind of the efficient kernels is causal.
bool is_causal(std::int64_t kind, const Attention& attention) {
  constexpr std::int64_t kFromTopLeft = 1;
  constexpr std::int64_t kFromBottomRight = 2;
  TORCH_CHECK(kind != kFromBottomRight || attention.query.size(1) == attention.key.size(1),
              "custom_mask_type 2 over different lengths has no substitute");
  return kind == kFromTopLeft || kind == kFromBottomRight;
}

Attention read_efficient(Inputs& in) {
  Attention packed;
  packed.query = in.tensor();
  packed.key = in.tensor();
  packed.value = in.tensor();
  packed.bias = in.tensor();
  TORCH_CHECK(!in.tensor().defined(), "sequences of several lengths have no substitute");
  packed.causal = is_causal(in.integer(), packed);
  packed.scale = in.maybe_number();
  return packed;
}

Results efficient(Inputs& in, const Fillers& fillers) {
  const Attention packed = read_efficient(in);
  const bool logsumexp_wanted = in.flag();
  const AttentionOutput output = attend(dense(packed));
  const at::Device device = packed.query.device();
  return {swapped(output.output),
          logsumexp_wanted ? in_recorded_layout(output.logsumexp, fillers.layout(1))
                           : output.logsumexp.narrow(2, 0, 0).contiguous(),
          fillers.make(2, device),
          fillers.make(3, device),
          packed.query.size(1),
          packed.key.size(1)};
}

Results efficient_backward(Inputs& in, const Fillers&) {
  const at::Tensor grad_output = in.tensor();
  const at::Tensor output = in.tensor();
  const at::Tensor logsumexp = in.tensor();
  const Attention packed = read_efficient(in);
  const bool bias_wanted = in.flag();
  const AttentionGradients gradients =
      attend_backward(dense(packed), swapped(grad_output), swapped(output), logsumexp, bias_wanted);
  return {swapped(gradients.query), swapped(gradients.key), swapped(gradients.value),
          gradients.bias};
}

constexpr std::string_view kForward =
    "aten::_scaled_dot_product_flash_attention_for_cpu, without dropout";
constexpr std::string_view kBackward =
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward, without dropout";

constexpr SubstituteRow kRows[] = {
    {"aten::_flash_attention_forward", kForward,
     "query key value cum_seq_q? cum_seq_k? is_causal scale?", flash},
    {"aten::_flash_attention_backward", kBackward,
     "grad_out out logsumexp query key value cum_seq_q? cum_seq_k? is_causal scale?",
     flash_backward},
    {"aten::_efficient_attention_forward", kForward,
     "query key value bias? cu_seqlens_q? custom_mask_type scale? "
     "compute_log_sumexp|compute_logsumexp?",
     efficient},
    {"aten::_efficient_attention_backward", kBackward,
     "grad_out_ out logsumexp query key value bias? cu_seqlens_q? custom_mask_type scale? "
     "bias_requires_grad?",
     efficient_backward},
};

}  // namespace

std::span<const SubstituteRow> attention_kernel_rows() {
  return kRows;
}

}  // namespace understudy::replayer
