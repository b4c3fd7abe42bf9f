// Batch norms of cuDNN and MIOpen, the parts of a synchronized batch norm, and RMS norm.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "substitute_call.h"

namespace understudy::replayer {
namespace {

using et_schema::DType;
using torch::jit::Stack;

constexpr double kEpsilon = 1e-5;
constexpr double kMomentum = 0.1;

struct Data {
  at::Tensor input = at::randn({4, 3, 5, 5}) * 2 + 1;
  at::Tensor weight = at::rand({3}) + 0.5;
  at::Tensor bias = at::randn({3});
  at::Tensor mean = at::randn({3});
  at::Tensor variance = at::rand({3}) + 0.5;
  at::Tensor grad_output = at::randn({4, 3, 5, 5});

  [[nodiscard]] at::Tensor forward(const std::vector<at::Tensor>& in) const {
    return at::batch_norm(in[0], in[1], in[2], mean.clone(), variance.clone(), true, kMomentum,
                          kEpsilon, false);
  }
  [[nodiscard]] std::vector<at::Tensor> gradients() const {
    return autograd_gradients([this](const std::vector<at::Tensor>& in) { return forward(in); },
                              {input, weight, bias}, grad_output);
  }
};

std::string forward_schema(const std::string& name, const std::string& results) {
  return "aten::" + name +
         "(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
         "bool training, float exponential_average_factor, float epsilon) -> " +
         results;
}

TEST(SubstituteNormalization, CudnnForwardUpdatesStatisticsAndGivesAReserve) {
  const Data data;
  const at::Tensor mean = data.mean.clone();
  const at::Tensor variance = data.variance.clone();
  const et_schema::Slot reserve = layout_of({77}, DType::kUInt8);
  const Stack result = call_substitute(
      forward_schema("cudnn_batch_norm", "(Tensor, Tensor, Tensor, Tensor)"),
      {data.input, data.weight, data.bias, mean, variance, true, kMomentum, kEpsilon},
      {nullptr, nullptr, nullptr, &reserve});
  ASSERT_EQ(result.size(), 4U);
  expect_close(result[0], data.forward({data.input, data.weight, data.bias}));
  const at::Tensor batch_mean = data.input.mean({0, 2, 3});
  const at::Tensor batch_variance = data.input.var(at::IntArrayRef{0, 2, 3}, /*unbiased=*/false);
  expect_close(result[1], batch_mean);
  expect_close(result[2], at::rsqrt(batch_variance + kEpsilon));
  EXPECT_TRUE(at::equal(result[3].toTensor(), at::zeros({77}, at::kByte)));
  expect_close(mean, data.mean * (1 - kMomentum) + batch_mean * kMomentum);
  expect_close(variance, data.variance * (1 - kMomentum) + batch_variance * kMomentum * 100 / 99);
}

TEST(SubstituteNormalization, MiopenForwardHasThreeResults) {
  const Data data;
  const Stack result =
      call_substitute(forward_schema("miopen_batch_norm", "(Tensor, Tensor, Tensor)"),
                      {data.input, data.weight, data.bias, data.mean.clone(), data.variance.clone(),
                       true, kMomentum, kEpsilon});
  ASSERT_EQ(result.size(), 3U);
  expect_close(result[0], data.forward({data.input, data.weight, data.bias}));
}

TEST(SubstituteNormalization, Backward) {
  const Data data;
  const std::vector<at::Tensor> gradients = data.gradients();
  const at::Tensor saved_mean = data.input.mean({0, 2, 3});
  const at::Tensor saved_deviation =
      at::rsqrt(data.input.var(at::IntArrayRef{0, 2, 3}, /*unbiased=*/false) + kEpsilon);
  const std::string arguments =
      "(Tensor input, Tensor grad_output, Tensor weight, Tensor? running_mean, Tensor? "
      "running_var, Tensor? save_mean, Tensor? save_var, float epsilon";
  const Stack common{data.input,    data.grad_output, data.weight,     data.mean,
                     data.variance, saved_mean,       saved_deviation, kEpsilon};
  Stack cudnn = common;
  cudnn.emplace_back(at::empty({77}, at::kByte));
  const Stack first = call_substitute("aten::cudnn_batch_norm_backward" + arguments +
                                          ", Tensor reserveSpace) -> (Tensor, Tensor, Tensor)",
                                      cudnn);
  const Stack second = call_substitute(
      "aten::miopen_batch_norm_backward" + arguments + ") -> (Tensor, Tensor, Tensor)", common);
  for (std::size_t i = 0; i < 3; ++i) {
    expect_close(first.at(i), gradients[i], 1e-4);
    expect_close(second.at(i), gradients[i], 1e-4);
  }
}

TEST(SubstituteNormalization, HalfTypesKeepFloatStatistics) {
  const Data data;
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
    const Stack result =
        call_substitute(forward_schema("cudnn_batch_norm", "(Tensor, Tensor, Tensor, Tensor)"),
                        {data.input.to(dtype), data.weight, data.bias, data.mean.clone(),
                         data.variance.clone(), true, kMomentum, kEpsilon});
    EXPECT_EQ(result.at(0).toTensor().scalar_type(), dtype);
    EXPECT_EQ(result.at(1).toTensor().scalar_type(), at::kFloat);
    expect_close(result.at(0), data.forward({data.input, data.weight, data.bias}).to(dtype), 0.05);
  }
}

TEST(SubstituteNormalization, PartsOfASynchronizedBatchNormMakeAWhole) {
  const Data data;
  const std::vector<at::Tensor> gradients = data.gradients();
  const std::vector<at::Tensor> shards = data.input.split({1, 3});
  const std::vector<at::Tensor> grad_shards = data.grad_output.split({1, 3});
  const at::Tensor counts = at::tensor({25, 75}, at::kInt);

  std::vector<at::Tensor> means;
  std::vector<at::Tensor> deviations;
  for (const at::Tensor& shard : shards) {
    const Stack stats = call_substitute(
        "aten::batch_norm_stats(Tensor input, float eps) -> (Tensor, Tensor)", {shard, kEpsilon});
    means.push_back(stats.at(0).toTensor());
    deviations.push_back(stats.at(1).toTensor());
  }
  const at::Tensor running_mean = data.mean.clone();
  const at::Tensor running_var = data.variance.clone();
  const Stack all = call_substitute(
      "aten::batch_norm_gather_stats_with_counts(Tensor input, Tensor mean, Tensor invstd, Tensor? "
      "running_mean, Tensor? running_var, float momentum, float eps, Tensor counts) -> (Tensor, "
      "Tensor)",
      {shards[0], at::stack(means), at::stack(deviations), running_mean, running_var, kMomentum,
       kEpsilon, counts.to(at::kFloat)});
  const at::Tensor mean = all.at(0).toTensor();
  const at::Tensor deviation = all.at(1).toTensor();
  expect_close(mean, data.input.mean({0, 2, 3}), 1e-4);
  const at::Tensor batch_variance = data.input.var(at::IntArrayRef{0, 2, 3}, /*unbiased=*/false);
  expect_close(deviation, at::rsqrt(batch_variance + kEpsilon), 1e-4);
  expect_close(running_mean, data.mean * (1 - kMomentum) + mean * kMomentum, 1e-4);
  expect_close(running_var, data.variance * (1 - kMomentum) + batch_variance * kMomentum * 100 / 99,
               1e-4);

  std::vector<at::Tensor> outputs;
  at::Tensor sum = at::zeros({3});
  at::Tensor weighted = at::zeros({3});
  at::Tensor grad_weight = at::zeros({3});
  at::Tensor grad_bias = at::zeros({3});
  for (std::size_t i = 0; i < 2; ++i) {
    outputs.push_back(
        call_substitute("aten::batch_norm_elemt(Tensor input, Tensor? weight, Tensor? bias, Tensor "
                        "mean, Tensor invstd, float eps) -> Tensor",
                        {shards[i], data.weight, data.bias, mean, deviation, kEpsilon})
            .at(0)
            .toTensor());
    const Stack reduced = call_substitute(
        "aten::batch_norm_backward_reduce(Tensor grad_out, Tensor input, Tensor mean, Tensor "
        "invstd, Tensor? weight, bool input_g, bool weight_g, bool bias_g) -> (Tensor, Tensor, "
        "Tensor, Tensor)",
        {grad_shards[i], shards[i], mean, deviation, data.weight, true, true, true});
    sum += reduced.at(0).toTensor();
    weighted += reduced.at(1).toTensor();
    grad_weight += reduced.at(2).toTensor();
    grad_bias += reduced.at(3).toTensor();
  }
  expect_close(at::cat(outputs), data.forward({data.input, data.weight, data.bias}), 1e-4);
  expect_close(grad_weight, gradients[1], 1e-3);
  expect_close(grad_bias, gradients[2], 1e-3);
  std::vector<at::Tensor> grad_inputs;
  for (std::size_t i = 0; i < 2; ++i) {
    grad_inputs.push_back(
        call_substitute(
            "aten::batch_norm_backward_elemt(Tensor grad_out, Tensor input, Tensor "
            "mean, Tensor invstd, Tensor? weight, Tensor sum_dy, Tensor sum_dy_xmu, "
            "Tensor count) -> Tensor",
            {grad_shards[i], shards[i], mean, deviation, data.weight, sum, weighted, counts})
            .at(0)
            .toTensor());
  }
  expect_close(at::cat(grad_inputs), gradients[0], 1e-3);
}

TEST(SubstituteNormalization, GatherWithOneCount) {
  const at::Tensor means = at::tensor({1.0F, 3.0F}).view({2, 1});
  const at::Tensor deviations = at::full({2, 1}, 1.0F);
  const Stack result = call_substitute(
      "aten::batch_norm_gather_stats(Tensor input, Tensor mean, Tensor invstd, Tensor? "
      "running_mean, Tensor? running_var, float momentum, float eps, int count) -> (Tensor, "
      "Tensor)",
      {means, means, deviations, c10::IValue(), c10::IValue(), kMomentum, 0.0, 10});
  expect_close(result.at(0), at::tensor({2.0F}));
  expect_close(result.at(1), at::rsqrt(at::tensor({2.0F})));
}

TEST(SubstituteNormalization, RmsNormBackward) {
  const at::Tensor input = at::randn({4, 3, 8});
  const at::Tensor weight = at::randn({8});
  const at::Tensor grad_output = at::randn({4, 3, 8});
  const auto deviation = [](const at::Tensor& in) {
    return at::rsqrt(in.square().mean(at::IntArrayRef{-1}, true) + kEpsilon);
  };
  const std::vector<at::Tensor> gradients = autograd_gradients(
      [&](const std::vector<at::Tensor>& in) { return in[0] * deviation(in[0]) * in[1]; },
      {input, weight}, grad_output);
  const std::string schema =
      "aten::_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, "
      "Tensor rstd, Tensor? weight, bool[2] output_mask) -> (Tensor, Tensor)";
  const Stack result =
      call_substitute(schema, {grad_output, input, std::vector<std::int64_t>{8}, deviation(input),
                               weight, c10::List<bool>({true, true})});
  expect_close(result.at(0), gradients[0], 1e-4);
  expect_close(result.at(1), gradients[1], 1e-4);
}

}  // namespace
}  // namespace understudy::replayer
