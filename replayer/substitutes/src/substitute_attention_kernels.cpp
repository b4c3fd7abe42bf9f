#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "substitute_attention.h"
#include "substitute_lookup.h"

namespace understudy::replayer {
namespace {

// The kernels below the scaled dot product operators expect (batch, length, heads, width), or all
// sequences packed in one dimension with their cumulative lengths.

/// (batch, length, heads, width) ↔ (batch, heads, length, width)
Tensor swapped(const Tensor& tensor) {
  return tensor.transpose(1, 2);
}

struct Sequence {
  std::int64_t query_begin = 0;
  std::int64_t query_length = 0;
  std::int64_t key_begin = 0;
  std::int64_t key_length = 0;
};

std::vector<Sequence> sequences(const Tensor& queries, const Tensor& keys,
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
Tensor one_query(const Tensor& packed, const Sequence& sequence) {
  return swapped(packed.narrow(0, sequence.query_begin, sequence.query_length).unsqueeze(0));
}
Tensor one_key(const Tensor& packed, const Sequence& sequence) {
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
  Tensor query_ends;
  Tensor key_ends;

  [[nodiscard]] static FlashInputs read(Inputs& in) {
    return {Attention::read(in), in.tensor(), in.tensor()};
  }
};

AttentionOutput attend_packed(const FlashInputs& inputs) {
  const Tensor output = at::empty_like(inputs.packed.query);
  std::vector<Tensor> logs;
  for (const Sequence& sequence : sequences(inputs.query_ends, inputs.key_ends, inputs.packed)) {
    const AttentionOutput part = attend(one(inputs.packed, sequence));
    output.narrow(0, sequence.query_begin, sequence.query_length)
        .copy_(swapped(part.output).squeeze(0));
    logs.push_back(part.logsumexp.squeeze(0));
  }
  return {output, at::cat(logs, 1)};
}

Results flash(const FlashInputs& inputs, const Fillers& fillers) {
  AttentionOutput output;
  if (inputs.query_ends.defined()) {
    output = attend_packed(inputs);
  } else {
    output = attend(dense(inputs.packed));
    output.output = swapped(output.output);
  }
  const at::Device device = inputs.packed.query.device();
  return {output.output, in_recorded_layout(output.logsumexp, fillers.layout(kLogsumexp)),
          fillers.make(2, device), fillers.make(3, device), fillers.make(4, device)};
}

Results flash_backward(const Tensor& grad_output, const Tensor& output, const Tensor& logsumexp,
                       const FlashInputs& inputs) {
  const Attention& packed = inputs.packed;
  if (!inputs.query_ends.defined()) {
    const AttentionGradients gradients =
        attend_backward(dense(packed), swapped(grad_output), swapped(output), logsumexp, false);
    return {swapped(gradients.query), swapped(gradients.key), swapped(gradients.value)};
  }
  const Tensor query = at::zeros_like(packed.query);
  const Tensor key = at::zeros_like(packed.key);
  const Tensor value = at::zeros_like(packed.value);
  for (const Sequence& sequence : sequences(inputs.query_ends, inputs.key_ends, packed)) {
    const Tensor log =
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

/// Returns true if the mask kind of the efficient kernels is causal.
bool is_causal(std::int64_t kind, const Attention& attention) {
  constexpr std::int64_t kFromTopLeft = 1;
  constexpr std::int64_t kFromBottomRight = 2;
  TORCH_CHECK(kind != kFromBottomRight || attention.query.size(1) == attention.key.size(1),
              "custom_mask_type 2 over different lengths has no substitute");
  return kind == kFromTopLeft || kind == kFromBottomRight;
}

struct EfficientInputs : Attention {
  [[nodiscard]] static EfficientInputs read(Inputs& in) {
    EfficientInputs packed;
    packed.query = in.tensor();
    packed.key = in.tensor();
    packed.value = in.tensor();
    packed.bias = in.tensor();
    TORCH_CHECK(!in.tensor().defined(), "sequences of several lengths have no substitute");
    packed.causal = is_causal(in.integer(), packed);
    packed.scale = in.maybe_number();
    return packed;
  }
};

Results efficient(const EfficientInputs& packed, bool logsumexp_wanted, const Fillers& fillers) {
  const AttentionOutput output = attend(dense(packed));
  const at::Device device = packed.query.device();
  return {swapped(output.output),  logsumexp_or_none(output, logsumexp_wanted, fillers),
          fillers.make(2, device), fillers.make(3, device),
          packed.query.size(1),    packed.key.size(1)};
}

Results efficient_backward(const Tensor& grad_output, const Tensor& output, const Tensor& logsumexp,
                           const EfficientInputs& packed, bool bias_wanted) {
  const AttentionGradients gradients =
      attend_backward(dense(packed), swapped(grad_output), swapped(output), logsumexp, bias_wanted);
  return {swapped(gradients.query), swapped(gradients.key), swapped(gradients.value),
          gradients.bias};
}

constexpr SubstituteRow kRows[] = {
    {"aten::_flash_attention_forward", kByFlash,
     "query key value attn_bias? is_causal scale? cum_seq_q? cum_seq_k?", unpacked<flash>},
    {"aten::_flash_attention_backward", kByFlashBackward,
     "grad_out out logsumexp query key value attn_bias? is_causal scale? cum_seq_q? cum_seq_k?",
     unpacked<flash_backward>},
    {"aten::_efficient_attention_forward", kByFlash,
     "query key value bias? cu_seqlens_q? custom_mask_type scale? "
     "compute_log_sumexp|compute_logsumexp?",
     unpacked<efficient>},
    {"aten::_efficient_attention_backward", kByFlashBackward,
     "grad_out_ out logsumexp query key value bias? cu_seqlens_q? custom_mask_type scale? "
     "bias_requires_grad?",
     unpacked<efficient_backward>},
};

}  // namespace

std::span<const SubstituteRow> attention_kernel_rows() {
  return kRows;
}

}  // namespace understudy::replayer
