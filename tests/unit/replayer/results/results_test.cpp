#include "replayer/results/results.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "program_builder.h"
#include "replayer/dispatch/arguments.h"
#include "replayer/dispatch/layout.h"
#include "replayer/dispatch/schema_map.h"

namespace understudy::replayer::testing {
namespace {

using et_schema::CallResults;
using et_schema::Device;
using et_schema::DeviceType;
using et_schema::ResultTensor;
using testing_programs::add_call;
using testing_programs::add_tensor;

constexpr Device kCpu = {DeviceType::kCpu, -1};
constexpr Device kCuda = {DeviceType::kCuda, 0};

/// Calls of one operator, by hand.
class Calls {
 public:
  explicit Calls(Device device = kCpu) : device_(device) {}
  Argument tensor(const Sizes& sizes, DType dtype = DType::kFloat32) {
    return ref(add_tensor(program_, sizes, true, dtype, device_));
  }
  Argument strided(const Sizes& sizes, const Sizes& strides, DType dtype = DType::kFloat32) {
    const SlotId slot = add_tensor(program_, sizes, true, dtype, device_);
    program_.slots[slot].strides = strides;
    return ref(slot);
  }
  CallResults operator()(std::string_view schema, std::vector<Argument> arguments) {
    return results_of(program_, add_call(program_, schema, std::move(arguments)));
  }
  const Program& program() const { return program_; }

 private:
  Program program_;
  Device device_;
};

Argument text(std::string value) {
  return {std::move(value)};
}

ResultTensor fresh(DType dtype, const Sizes& sizes, const Sizes& strides) {
  ResultTensor tensor;
  tensor.dtype = dtype;
  tensor.sizes = sizes;
  tensor.strides = strides;
  return tensor;
}

constexpr std::string_view kAdd =
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";

TEST(Results, NewTensors) {
  Calls call;
  const CallResults sum =
      call(kAdd, {call.tensor({4, 1}), call.strided({3}, {2}, DType::kInt64), number(1)});
  ASSERT_EQ(sum.why_not, "");
  EXPECT_EQ(sum.tensors, (std::vector{fresh(DType::kFloat32, {4, 3}, {3, 1})}));
  EXPECT_TRUE(sum.list_sizes.empty());
}

TEST(Results, NumbersDoNotDecideTypes) {
  Calls call;
  const CallResults sum =
      call(kAdd, {call.tensor({2}, DType::kFloat16), call.tensor({}, DType::kFloat64), number(1)});
  EXPECT_EQ(sum.tensors, (std::vector{fresh(DType::kFloat16, {2}, {1})}));
}

TEST(Results, ViewsShareTheirInputsStorage) {
  Calls call;
  const CallResults view =
      call("aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
           {call.strided({4, 3}, {1, 4}), number(1), number(2)});
  ResultTensor expected = fresh(DType::kFloat32, {4}, {1});
  expected.storage_of = 0;
  expected.offset_from = 8;
  EXPECT_EQ(view.tensors, std::vector{expected});
}

TEST(Results, OffsetsOfAsStridedAreAbsolute) {
  Calls call;
  const std::string_view schema =
      "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? "
      "storage_offset=None) -> Tensor(a)";
  const Argument self = call.tensor({8});
  const CallResults told = call(schema, {self, numbers({2}), numbers({3}), number(1)});
  ASSERT_EQ(told.tensors.size(), 1U);
  EXPECT_EQ(told.tensors[0].offset_from, 1);
  EXPECT_TRUE(told.tensors[0].offset_is_absolute);
  const CallResults untold = call(schema, {self, numbers({2}), numbers({3}), none()});
  ASSERT_EQ(untold.tensors.size(), 1U);
  EXPECT_FALSE(untold.tensors[0].offset_is_absolute);
}

TEST(Results, InPlaceIsTheInput) {
  Calls call;
  const CallResults sum =
      call("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
           {call.tensor({4}), call.tensor({4}), number(1)});
  ASSERT_EQ(sum.tensors.size(), 1U);
  EXPECT_EQ(sum.tensors[0].same_as, 0);
  EXPECT_EQ(sum.tensors[0].storage_of, 0);
}

TEST(Results, KernelsOfACpuTellWhatNoRuleDoes) {
  Calls call;
  const CallResults smallest = call(
      "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, "
      "Tensor indices)",
      {call.tensor({6, 8}), number(2), number(-1), {false}});
  EXPECT_EQ(smallest.tensors,
            (std::vector{fresh(DType::kFloat32, {6}, {1}), fresh(DType::kInt64, {6}, {1})}));
  const CallResults waves =
      call("aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
           {call.strided({4, 6, 8}, {1, 4, 24}), numbers({1, 2}), number(0), {true}});
  EXPECT_EQ(waves.tensors, std::vector{fresh(DType::kComplexFloat32, {4, 6, 5}, {30, 5, 1})});
  const CallResults both = call("aten::logical_and(Tensor self, Tensor other) -> Tensor",
                                {call.tensor({4}), call.tensor({2, 4})});
  EXPECT_EQ(both.tensors, std::vector{fresh(DType::kBool, {2, 4}, {4, 1})});
}

TEST(Results, UndefinedInputsAreCounted) {
  Calls call;
  const CallResults found = call("aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
                                 {list({call.tensor({2, 2}), call.tensor({3, 2})}), number(0)});
  EXPECT_EQ(found.tensors, (std::vector{fresh(DType::kFloat32, {5, 2}, {2, 1})}));
  const CallResults normed = call(
      "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? "
      "bias, float eps) -> (Tensor, Tensor, Tensor)",
      {call.tensor({2, 3}), numbers({3}), undefined(), none(), real(1e-5)});
  EXPECT_EQ(normed.tensors, (std::vector{fresh(DType::kFloat32, {2, 3}, {3, 1}),
                                         fresh(DType::kFloat32, {2, 1}, {1, 1}),
                                         fresh(DType::kFloat32, {2, 1}, {1, 1})}));
}

TEST(Results, ListsAreFlat) {
  Calls call;
  const CallResults parts =
      call("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
           {call.tensor({5}), number(2), number(0)});
  ASSERT_EQ(parts.tensors.size(), 3U);
  EXPECT_EQ(parts.list_sizes, std::vector{3});
  EXPECT_EQ(parts.tensors[2].sizes, Sizes{1});
  EXPECT_EQ(parts.tensors[2].offset_from, 4);
}

TEST(Results, CopiesToAnotherDeviceAreNew) {
  const std::string_view schema =
      "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
      "MemoryFormat? memory_format=None) -> Tensor(a)";
  Calls call;
  const auto moved_to = [&](Device device) {
    return call(schema, {call.tensor({2}),
                         none(),
                         none(),
                         {Argument::DeviceRef{device}},
                         none(),
                         flag(false),
                         flag(false),
                         none()});
  };
  ASSERT_EQ(moved_to(kCuda).why_not, "");
  EXPECT_EQ(moved_to(kCuda).tensors.at(0).storage_of, -1);
  EXPECT_EQ(moved_to(kCpu).tensors.at(0).same_as, 0);
}

TEST(Results, ContentsAreNotKnown) {
  Calls call;
  const std::string why = "they depend on what its tensors hold";
  EXPECT_EQ(call("aten::nonzero(Tensor self) -> Tensor", {call.tensor({4})}).why_not, why);
  EXPECT_EQ(call("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
                 {call.tensor({4}), list({call.tensor({4}, DType::kBool)})})
                .why_not,
            why);
  EXPECT_EQ(call("aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
                 {call.tensor({4}, DType::kInt64), none(), number(0)})
                .why_not,
            why);
}

TEST(Results, WhatIsNotCalled) {
  Calls call;
  EXPECT_EQ(call("mine::norm(Tensor x) -> Tensor", {call.tensor({2})}).why_not,
            "this LibTorch has no such operator");
  EXPECT_EQ(call("aten::mm(Tensor self, Tensor mat2) -> Tensor",
                 {call.tensor({2, 3}), call.tensor({2, 3})})
                .why_not,
            "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
  const std::string_view einsum =
      "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor";
  EXPECT_TRUE(call(einsum, {text("text1"), list({call.tensor({2, 3})}), none()}).fails);
  EXPECT_FALSE(call(einsum, {text("AB->BA"), list({call.tensor({2, 3})}), none()}).fails);
  EXPECT_NE(call("aten::from_file(str filename, bool? shared=None, int? size=0, *, ScalarType? "
                 "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
                 "Tensor",
                 {text("/etc/passwd"), none(), number(1), none(), none(), none(), none()})
                .why_not,
            "");
}

// ---- rules against kernels

struct Ruled {
  std::string_view schema;
  std::vector<Argument> arguments;
};

c10::IValue on_cpu(PlannedArgument plan, const std::vector<at::Tensor>& tensors) {
  if (const auto* slot = std::get_if<SlotId>(&plan)) {
    return tensors.at(*slot);
  }
  if (auto* listed = std::get_if<SlotList>(&plan)) {
    for (const auto& [position, slot] : listed->elements) {
      listed->boxed.toTensorList().set(position, tensors.at(slot));
    }
    return listed->boxed;
  }
  return std::get<c10::IValue>(plan);
}

/// What the kernel of a CPU gives, as texts; the inputs hold zeros.
std::vector<std::string> of_kernel(const Program& program, const Ruled& ruled) {
  std::vector<at::Tensor> tensors;
  for (const et_schema::Slot& slot : program.slots) {
    tensors.push_back(make_tensor(slot, c10::kCPU).zero_());
  }
  const RecordedSchema recorded = parse_recorded_schema(std::string(ruled.schema));
  const MatchResult found = match_operator(recorded, ruled.arguments);
  const auto& targets = found.match.value().handle.schema().arguments();
  et_schema::Losses losses;
  torch::jit::Stack stack;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    stack.push_back(on_cpu(plan_argument(ruled.arguments.at(found.match->sources[i].value()),
                                         targets[i], {c10::kCPU, recorded.name, &losses}),
                           tensors));
  }
  found.match->handle.callBoxed(stack);
  std::vector<std::string> texts;
  for (const c10::IValue& value : stack) {
    if (value.isTensor()) {
      texts.push_back(describe(value.toTensor()));
    }
  }
  return texts;
}

std::vector<std::string> of_rule(const Program& program, const Ruled& ruled) {
  Program with_call = program;
  const CallResults results =
      results_of(with_call, add_call(with_call, ruled.schema, ruled.arguments), 0);
  EXPECT_EQ(results.why_not, "") << ruled.schema;
  std::vector<std::string> texts;
  for (const ResultTensor& tensor : results.tensors) {
    texts.push_back(tensor.dtype == DType::kUndefined
                        ? "undefined"
                        : fmt::format("{}[{}] strides [{}]", to_string(tensor.dtype),
                                      fmt::join(tensor.sizes, ", "),
                                      fmt::join(tensor.strides, ", ")));
  }
  return texts;
}

/// Without calls that are made with memory: a rule that is missing is an error.
class RulesMatchKernels : public ::testing::Test {
 protected:
  void expect_same(std::string_view schema, std::vector<Argument> arguments) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::NoGradGuard no_gradients;
    const Ruled ruled = {schema, std::move(arguments)};
    EXPECT_EQ(of_rule(calls_.program(), ruled), of_kernel(calls_.program(), ruled)) << schema;
  }
  Argument tensor(const Sizes& sizes, DType dtype = DType::kFloat32) {
    return calls_.tensor(sizes, dtype);
  }
  Argument strided(const Sizes& sizes, const Sizes& strides) {
    return calls_.strided(sizes, strides);
  }

 private:
  Calls calls_;
};

TEST_F(RulesMatchKernels, OfElements) {
  for (const Argument& self : {tensor({4, 5, 6}), strided({4, 5, 6}, {1, 4, 20})}) {
    expect_same("aten::relu(Tensor self) -> Tensor", {self});
    expect_same("aten::flip(Tensor self, int[] dims) -> Tensor", {self, numbers({1})});
    expect_same("aten::abs(Tensor self) -> Tensor", {self});
    expect_same("aten::max(Tensor self) -> Tensor", {self});
    expect_same(
        "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
        "bool keepdim=False) -> Tensor",
        {self, numbers({1}), none(), flag(true)});
    expect_same("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
                {tensor({1}, DType::kBool), self, tensor({1})});
    expect_same("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
                {self, numbers({2}), numbers({1})});
    expect_same("aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", {self});
    expect_same(
        "aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int "
        "reduction) -> Tensor",
        {tensor({}), self, self, number(1)});
    expect_same("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
                {self, number(1), tensor({3}, DType::kInt64)});
  }
}

TEST_F(RulesMatchKernels, OfPlanes) {
  const std::string_view backward =
      "aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? "
      "running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, "
      "float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)";
  const Argument rows = tensor({8});
  for (const Argument& input : {tensor({2, 8, 6, 6}), strided({2, 8, 6, 6}, {288, 1, 48, 8})}) {
    expect_same(
        "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
        "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, "
        "SymInt groups) -> Tensor",
        {input, tensor({4, 4, 3, 3}), none(), numbers({2, 2}), numbers({1, 1}), numbers({1, 1}),
         flag(false), numbers({0, 0}), number(2)});
    expect_same(
        "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
        "running_mean, Tensor? running_var, bool training, float momentum, float eps) -> "
        "(Tensor, Tensor, Tensor)",
        {input, rows, rows, rows, rows, flag(true), real(0.1), real(1e-5)});
    expect_same(backward, {input, input, rows, rows, rows, rows, rows, flag(true), real(1e-5),
                           list({flag(true), flag(true), flag(false)})});
    expect_same(
        "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, "
        "SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
        {input, rows, rows, number(2), number(8), number(36), number(4), real(1e-5)});
  }
}

TEST_F(RulesMatchKernels, OfRows) {
  const Argument input = tensor({3, 4, 10});
  const Argument weight = tensor({10});
  expect_same(
      "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
      "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
      {input, numbers({10}), weight, weight, real(1e-5)});
  expect_same(
      "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] "
      "normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] "
      "output_mask) -> (Tensor, Tensor, Tensor)",
      {input, input, numbers({10}), tensor({3, 4, 1}), tensor({3, 4, 1}), weight, weight,
       list({flag(true), flag(true), flag(true)})});
  expect_same(
      "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
      "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
      {tensor({7, 5}), tensor({2, 3}, DType::kInt64), number(-1), flag(false), flag(false)});
}

TEST_F(RulesMatchKernels, OfAttention) {
  const std::string_view schema =
      "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
      "attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool "
      "enable_gqa=False) -> Tensor";
  for (const Argument& query : {tensor({2, 4, 16, 8}), strided({2, 4, 16, 8}, {512, 8, 32, 1})}) {
    expect_same(schema, {query, query, query, none(), real(0), flag(true), none(), flag(false)});
  }
  const Argument other = tensor({2, 4, 16, 6});
  const Argument query = tensor({2, 4, 16, 8});
  expect_same(schema, {query, query, other, none(), real(0), flag(false), none(), flag(false)});
}

// No kernel here shows what these are on a GPU: sizes and layouts as its kernels document them.
TEST(GpuRules, FlashAttention) {
  Calls call(kCuda);
  const Argument query = call.strided({2, 4, 100, 64}, {25600, 64, 256, 1}, DType::kBFloat16);
  const CallResults found = call(
      "aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float "
      "dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> "
      "(Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt "
      "max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
      {query, query, query, real(0), flag(true), flag(false), none()});
  EXPECT_EQ(found.why_not, "");
  EXPECT_EQ(found.tensors,
            (std::vector{fresh(DType::kBFloat16, {2, 4, 100, 64}, {25600, 64, 256, 1}),
                         fresh(DType::kFloat32, {2, 4, 100}, {400, 100, 1}), ResultTensor(),
                         ResultTensor(), fresh(DType::kUInt64, {2}, {1}),
                         fresh(DType::kUInt64, {}, {}), fresh(DType::kBFloat16, {0}, {1})}));
}

TEST(GpuRules, StatisticsOfHalvesAreFloats) {
  Calls call(kCuda);
  const CallResults found = call(
      "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? "
      "bias, float eps) -> (Tensor, Tensor, Tensor)",
      {call.tensor({2, 3}, DType::kBFloat16), numbers({3}), call.tensor({3}, DType::kBFloat16),
       none(), real(1e-5)});
  ASSERT_EQ(found.tensors.size(), 3U);
  EXPECT_EQ(found.tensors[0].dtype, DType::kBFloat16);
  EXPECT_EQ(found.tensors[1], fresh(DType::kFloat32, {2, 1}, {1, 1}));
}

}  // namespace
}  // namespace understudy::replayer::testing
