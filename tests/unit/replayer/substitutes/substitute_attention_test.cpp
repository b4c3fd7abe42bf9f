// Attention of the GPU on the CPU: against the written-out computation and autograd.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "substitute_call.h"

namespace understudy::replayer {
namespace {

using et_schema::DType;
using torch::jit::Stack;

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kLength = 7;
constexpr std::int64_t kWidth = 8;

at::Tensor attention(const std::vector<at::Tensor>& in, bool causal, const at::Tensor& bias,
                     double scale) {
  at::Tensor scores = at::matmul(in[0], in[1].transpose(2, 3)) * scale;
  if (bias.defined()) {
    scores = scores + bias;
  }
  if (causal) {
    const at::Tensor seen = at::ones({scores.size(2), scores.size(3)}, at::kBool).tril();
    scores = scores.masked_fill(seen.logical_not(), -std::numeric_limits<float>::infinity());
  }
  return at::matmul(at::softmax(scores, 3), in[2]);
}

struct Data {
  at::Tensor query = at::randn({kBatch, kHeads, kLength, kWidth});
  at::Tensor key = at::randn({kBatch, kHeads, kLength, kWidth});
  at::Tensor value = at::randn({kBatch, kHeads, kLength, kWidth});
  at::Tensor grad_output = at::randn({kBatch, kHeads, kLength, kWidth});
  at::Tensor none;

  [[nodiscard]] at::Tensor forward(bool causal, const at::Tensor& bias = {},
                                   double scale = 1 / std::sqrt(8.0)) const {
    return attention({query, key, value}, causal, bias, scale);
  }
  [[nodiscard]] std::vector<at::Tensor> gradients(bool causal, const at::Tensor& bias = {},
                                                  double scale = 1 / std::sqrt(8.0)) const {
    return autograd_gradients(
        [&](const std::vector<at::Tensor>& in) { return attention(in, causal, bias, scale); },
        {query, key, value}, grad_output);
  }
};

void expect_all_close(const Stack& results, const std::vector<at::Tensor>& expected) {
  ASSERT_GE(results.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_close(results[i], expected[i], 1e-4);
  }
}

const std::string kFlashResults =
    "(Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt "
    "max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)";

TEST(SubstituteAttention, FlashAndItsBackward) {
  const Data data;
  const et_schema::Slot rng = layout_of({2}, DType::kUInt64);
  const et_schema::Slot unused = layout_of({}, DType::kUInt64);
  const et_schema::Slot debug = layout_of({0}, DType::kFloat32);
  for (const bool causal : {false, true}) {
    const Stack forward = call_substitute(
        "aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float "
        "dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) "
        "-> " +
            kFlashResults,
        {data.query, data.key, data.value, 0.1, causal, false, 0.5},
        {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &rng, &unused, &debug});
    ASSERT_EQ(forward.size(), 9U);
    expect_close(forward[0], data.forward(causal, {}, 0.5), 1e-4);
    EXPECT_EQ(forward[1].toTensor().sizes(), at::IntArrayRef({kBatch, kHeads, kLength}));
    EXPECT_TRUE(forward[1].toTensor().is_contiguous());
    EXPECT_FALSE(forward[2].toTensor().defined());
    EXPECT_EQ(forward[4].toInt(), kLength);
    EXPECT_EQ(forward[6].toTensor().scalar_type(), at::kUInt64);
    EXPECT_EQ(forward[6].toTensor().numel(), 2);
    EXPECT_EQ(forward[8].toTensor().numel(), 0);
    const Stack backward = call_substitute(
        "aten::_scaled_dot_product_flash_attention_backward(Tensor grad_out, Tensor query, Tensor "
        "key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, "
        "SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor philox_seed, Tensor "
        "philox_offset, *, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor "
        "grad_value)",
        {data.grad_output, data.query, data.key, data.value, forward[0], forward[1], forward[2],
         forward[3], forward[4], forward[5], 0.1, causal, forward[6], forward[7], 0.5});
    expect_all_close(backward, data.gradients(causal, {}, 0.5));
  }
}

TEST(SubstituteAttention, FewerHeadsOfKeysServeGroups) {
  Data data;
  const at::Tensor key = at::randn({kBatch, 2, kLength, kWidth});
  const at::Tensor value = at::randn({kBatch, 2, kLength, kWidth});
  const auto grouped = [](const std::vector<at::Tensor>& in) {
    return attention({in[0], in[1].repeat_interleave(2, 1), in[2].repeat_interleave(2, 1)}, true,
                     {}, 1 / std::sqrt(8.0));
  };
  const std::string forward_schema =
      "aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float "
      "dropout_p=0., bool is_causal=False, bool return_debug_mask=False) -> " +
      kFlashResults;
  const Stack forward = call_substitute(forward_schema, {data.query, key, value, 0.0, true, false});
  expect_close(forward.at(0), grouped({data.query, key, value}), 1e-4);
  const Stack backward = call_substitute(
      "aten::_scaled_dot_product_flash_attention_backward(Tensor grad_out, Tensor query, Tensor "
      "key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, int "
      "max_q, int max_k, float dropout_p, bool is_causal, Tensor philox_seed, Tensor "
      "philox_offset) -> (Tensor, Tensor, Tensor)",
      {data.grad_output, data.query, key, value, forward[0], forward[1], data.none, data.none,
       kLength, kLength, 0.0, true, data.none, data.none});
  expect_all_close(backward,
                   autograd_gradients(grouped, {data.query, key, value}, data.grad_output));
}

const std::string kEfficientBackward =
    "aten::_scaled_dot_product_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor "
    "key, Tensor value, Tensor attn_bias, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor "
    "philox_offset, float dropout_p, bool[4] grad_input_mask, bool is_causal=False, *, float? "
    "scale=None) -> (Tensor, Tensor, Tensor, Tensor)";

TEST(SubstituteAttention, EfficientPadsTheLogsumexpAsRecorded) {
  const Data data;
  const et_schema::Slot padded = layout_of({kBatch, kHeads, 32}, DType::kFloat32);
  const et_schema::Slot seed = layout_of({}, DType::kInt64);
  const std::string schema =
      "aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, "
      "Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, "
      "float? scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor "
      "philox_offset)";
  const Stack forward = call_substitute(
      schema, {data.query, data.key, data.value, c10::IValue(), true, 0.0, true, c10::IValue()},
      {nullptr, &padded, &seed, &seed});
  ASSERT_EQ(forward.size(), 4U);
  expect_close(forward[0], data.forward(true), 1e-4);
  EXPECT_EQ(forward[1].toTensor().sizes(), at::IntArrayRef({kBatch, kHeads, 32}));
  EXPECT_EQ(forward[2].toTensor().scalar_type(), at::kLong);
  const Stack backward = call_substitute(
      kEfficientBackward, {data.grad_output, data.query, data.key, data.value, data.none,
                           forward[0], forward[1], forward[2], forward[3], 0.0,
                           c10::List<bool>({true, true, true, false}), true, c10::IValue()});
  expect_all_close(backward, data.gradients(true));
  EXPECT_FALSE(backward.at(3).toTensor().defined());

  const Stack without = call_substitute(
      schema, {data.query, data.key, data.value, c10::IValue(), false, 0.0, false, c10::IValue()});
  EXPECT_EQ(without.at(1).toTensor().sizes(), at::IntArrayRef({kBatch, kHeads, 0}));
}

TEST(SubstituteAttention, EfficientGivesTheGradientOfABias) {
  const Data data;
  const at::Tensor bias = at::randn({1, kHeads, kLength, kLength});
  const double scale = 1 / std::sqrt(8.0);
  for (const bool causal : {false, true}) {
    const std::vector<at::Tensor> expected = autograd_gradients(
        [&](const std::vector<at::Tensor>& in) {
          return attention({in[0], in[1], in[2]}, causal, in[3], scale);
        },
        {data.query, data.key, data.value, bias}, data.grad_output);
    const at::Tensor output = data.forward(causal, bias);
    at::Tensor scores = at::matmul(data.query, data.key.transpose(2, 3)) * scale + bias;
    if (causal) {
      scores = scores.masked_fill(at::ones({kLength, kLength}, at::kBool).tril().logical_not(),
                                  -std::numeric_limits<float>::infinity());
    }
    const Stack backward = call_substitute(
        kEfficientBackward, {data.grad_output, data.query, data.key, data.value, bias, output,
                             at::logsumexp(scores, {3}), data.none, data.none, 0.0,
                             c10::List<bool>({true, true, true, true}), causal, c10::IValue()});
    expect_all_close(backward, expected);
  }
}

TEST(SubstituteAttention, CudnnAndItsBackward) {
  const Data data;
  const at::Tensor bias = at::randn({kBatch, 1, kLength, kLength});
  const Stack forward = call_substitute(
      "aten::_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, Tensor? "
      "attn_bias, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, bool "
      "return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor "
      "cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor "
      "philox_offset, Tensor debug_attn_mask)",
      {data.query, data.key, data.value, bias, true, 0.0, false, false, c10::IValue()});
  expect_close(forward.at(0), data.forward(false, bias), 1e-4);
  const Stack backward = call_substitute(
      "aten::_scaled_dot_product_cudnn_attention_backward(Tensor grad_out, Tensor query, Tensor "
      "key, Tensor value, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, "
      "Tensor attn_bias, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float "
      "dropout_p, bool is_causal, *, float? scale=None) -> (Tensor, Tensor, Tensor)",
      {data.grad_output, data.query, data.key, data.value, forward[0], forward[1], data.none,
       data.none, bias, data.none, data.none, kLength, kLength, 0.0, false, c10::IValue()});
  expect_all_close(backward, data.gradients(false, bias));
}

const std::string kMoved =
    "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, "
    "float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> "
    "(Tensor output, Tensor logsumexp)";
const std::string kMovedBackward =
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, "
    "Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, "
    "Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor "
    "grad_value)";

TEST(SubstituteAttention, TheCpusRunsOnADevice) {
  const Data data;
  const at::Tensor bias = at::randn({kBatch, 1, kLength, kLength});
  for (const at::Tensor& mask : {data.none, bias}) {
    const bool causal = !mask.defined();
    const auto [output, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
        data.query, data.key, data.value, 0.0, causal, causal ? std::nullopt : std::optional(mask),
        0.5);
    const Stack forward =
        call_substitute(kMoved, {data.query, data.key, data.value, 0.0, causal, mask, 0.5});
    expect_all_close(forward, {output, logsumexp});
    const Stack backward =
        call_substitute(kMovedBackward, {data.grad_output, data.query, data.key, data.value,
                                         forward[0], forward[1], 0.0, causal, mask, 0.5});
    expect_all_close(backward, data.gradients(causal, mask, 0.5));
  }
}

TEST(SubstituteAttention, TheCpusHasItsLayoutsAndSharedHeadsOnADevice) {
  const Data data;
  const at::Tensor key = at::randn({kBatch, 2, kLength, kWidth});
  const at::Tensor value = at::randn({kBatch, 2, kLength, kWidth});
  et_schema::Slot swapped_layout = layout_of({kBatch, kHeads, kLength, kWidth}, DType::kFloat32);
  swapped_layout.strides = {kHeads * kLength * kWidth, kWidth, kHeads * kWidth, 1};
  const Stack forward =
      call_substitute(kMoved, {data.query, key, value, 0.0, false, c10::IValue(), c10::IValue()},
                      {&swapped_layout, nullptr});
  EXPECT_EQ(forward.at(0).toTensor().strides(), at::IntArrayRef(swapped_layout.strides));
  const auto grouped = [](const std::vector<at::Tensor>& in) {
    return attention({in[0], in[1].repeat_interleave(2, 1), in[2].repeat_interleave(2, 1)}, false,
                     {}, 1 / std::sqrt(8.0));
  };
  expect_close(forward.at(0), grouped({data.query, key, value}), 1e-4);
  const Stack backward =
      call_substitute(kMovedBackward, {data.grad_output, data.query, key, value, forward[0],
                                       forward[1], 0.0, false, c10::IValue(), c10::IValue()});
  expect_all_close(backward,
                   autograd_gradients(grouped, {data.query, key, value}, data.grad_output));
}

const std::string kFlashKernel =
    "aten::_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, "
    "Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool "
    "return_debug_mask, *, float? scale=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor "
    "rng_state, Tensor unused, Tensor debug_attn_mask)";
const std::string kFlashKernelBackward =
    "aten::_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, "
    "Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, "
    "float dropout_p, bool is_causal, Tensor rng_state, Tensor unused, *, float? scale=None) -> "
    "(Tensor, Tensor, Tensor)";

at::Tensor swapped(const at::Tensor& tensor) {
  return tensor.transpose(1, 2);
}

TEST(SubstituteAttention, FlashKernelOverBatches) {
  const Data data;
  const Stack forward = call_substitute(
      kFlashKernel, {swapped(data.query), swapped(data.key), swapped(data.value), c10::IValue(),
                     c10::IValue(), kLength, kLength, 0.0, true, false, c10::IValue()});
  expect_close(forward.at(0), swapped(data.forward(true)), 1e-4);
  const Stack backward = call_substitute(
      kFlashKernelBackward, {swapped(data.grad_output), swapped(data.query), swapped(data.key),
                             swapped(data.value), forward[0], forward[1], data.none, data.none,
                             kLength, kLength, 0.0, true, data.none, data.none, c10::IValue()});
  const std::vector<at::Tensor> expected = data.gradients(true);
  expect_all_close(backward, {swapped(expected[0]), swapped(expected[1]), swapped(expected[2])});
}

TEST(SubstituteAttention, FlashKernelOverSequencesOfSeveralLengths) {
  const std::vector<std::int64_t> ends{0, 3, 4, 9};
  const at::Tensor cumulative = at::tensor({0, 3, 4, 9}, at::kInt);
  const auto packed = [] { return at::randn({9, kHeads, kWidth}); };
  const std::vector<at::Tensor> inputs{packed(), packed(), packed()};
  const at::Tensor grad_output = packed();
  const auto all = [&](const std::vector<at::Tensor>& in) {
    std::vector<at::Tensor> outputs;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      const auto part = [&](const at::Tensor& tensor) {
        return swapped(tensor.slice(0, ends[i], ends[i + 1]).unsqueeze(0));
      };
      outputs.push_back(
          swapped(attention({part(in[0]), part(in[1]), part(in[2])}, true, {}, 0.25)).squeeze(0));
    }
    return at::cat(outputs);
  };
  const Stack forward = call_substitute(kFlashKernel, {inputs[0], inputs[1], inputs[2], cumulative,
                                                       cumulative, 5, 5, 0.0, true, false, 0.25});
  expect_close(forward.at(0), all(inputs), 1e-4);
  EXPECT_EQ(forward.at(1).toTensor().sizes(), at::IntArrayRef({kHeads, 9}));
  const at::Tensor none;
  const Stack backward = call_substitute(
      kFlashKernelBackward, {grad_output, inputs[0], inputs[1], inputs[2], forward[0], forward[1],
                             cumulative, cumulative, 5, 5, 0.0, true, none, none, 0.25});
  expect_all_close(backward, autograd_gradients(all, inputs, grad_output));
  const at::Tensor beyond = at::tensor({0, 3, 4, 10}, at::kInt);
  EXPECT_THROW(
      static_cast<void>(call_substitute(kFlashKernel, {inputs[0], inputs[1], inputs[2], beyond,
                                                       beyond, 5, 5, 0.0, true, false, 0.25})),
      c10::Error);
}

TEST(SubstituteAttention, EfficientKernelAndItsBackward) {
  const Data data;
  const std::string forward_schema =
      "aten::_efficient_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? bias, "
      "Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt? max_seqlen_q, SymInt? max_seqlen_k, "
      "float dropout_p, int custom_mask_type, bool compute_log_sumexp=False, *, float? scale=None) "
      "-> (Tensor output, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, SymInt "
      "max_seqlen_batch_q, SymInt max_seqlen_batch_k)";
  const c10::IValue none;
  for (const std::int64_t mask : {0, 1, 2}) {
    const Stack forward = call_substitute(
        forward_schema, {swapped(data.query), swapped(data.key), swapped(data.value), none, none,
                         none, none, none, 0.0, mask, true, none});
    expect_close(forward.at(0), swapped(data.forward(mask != 0)), 1e-4);
    EXPECT_EQ(forward.at(4).toInt(), kLength);
    const Stack backward = call_substitute(
        "aten::_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor "
        "value, Tensor? bias, Tensor out, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt "
        "max_seqlen_q, SymInt max_seqlen_k, Tensor logsumexp, float dropout_p, Tensor philox_seed, "
        "Tensor philox_offset, int custom_mask_type, bool bias_requires_grad, *, float? "
        "scale=None) -> (Tensor, Tensor, Tensor, Tensor)",
        {swapped(data.grad_output), swapped(data.query), swapped(data.key), swapped(data.value),
         none, forward[0], none, none, kLength, kLength, forward[1], 0.0, data.none, data.none,
         mask, false, none});
    const std::vector<at::Tensor> expected = data.gradients(mask != 0);
    expect_all_close(backward, {swapped(expected[0]), swapped(expected[1]), swapped(expected[2])});
  }
}

}  // namespace
}  // namespace understudy::replayer
