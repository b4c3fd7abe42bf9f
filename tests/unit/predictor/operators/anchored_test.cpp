#include "predictor/operators/anchored.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "predictor/calls/known_cards.h"
#include "predictor/work/work.h"

namespace understudy::predictor {
namespace {

using Lists = std::vector<std::vector<std::int64_t>>;

const Card& card(const char* name) {
  return *find_known_card(name);
}

/// With the results that a profile does not show.
OperatorCall profiled_call(const std::string& name, const std::vector<std::string>& inputs,
                           const Lists& lists = {}) {
  OperatorCall call{name, "", {}, {}};
  for (const std::string& text : inputs) {
    call.inputs.push_back(*et_schema::parse_tensor_layout(text));
  }
  add_assumed_results(call, lists);
  return call;
}

std::string result(const std::string& name, const std::vector<std::string>& inputs,
                   const Lists& lists = {}) {
  const OperatorCall call = profiled_call(name, inputs, lists);
  return call.outputs.empty() ? "" : to_string(call.outputs.front());
}

const OperatorCall& large_add() {
  static const OperatorCall kCall =
      profiled_call("aten::add", {"bfloat16[8192,65536]", "bfloat16[8192,65536]"});
  return kCall;
}

TEST(AssumedResults, FollowFromNamesAndArguments) {
  EXPECT_EQ(result("aten::linear", {"bfloat16[2,3,4]", "bfloat16[5,4]"}), "bfloat16[2,3,5]");
  EXPECT_EQ(result("aten::addmm", {"float32[7]", "float32[5,6]", "float32[6,7]"}), "float32[5,7]");
  EXPECT_EQ(result("aten::baddbmm", {"float32[3,5,7]", "float32[3,5,6]", "float32[3,6,7]"}),
            "float32[3,5,7]");
  EXPECT_EQ(result("aten::conv2d", {"float32[4,3,224,224]", "float32[768,3,16,16]"},
                   {{16, 16}, {0, 0}, {1, 1}}),
            "float32[4,768,14,14]");
  EXPECT_EQ(result("aten::cudnn_convolution", {"float32[1,8,10,10]", "float32[8,8,3,3]"},
                   {{1, 1}, {2, 2}, {1, 1}}),
            "float32[1,8,5,5]");
  EXPECT_EQ(result("aten::add", {"float32[4,1]", "float32[3]"}), "float32[4,3]");
  EXPECT_EQ(result("aten::embedding", {"float32[100,16]", "int64[2,5]"}), "float32[2,5,16]");
  EXPECT_EQ(result("aten::sum", {"float32[4,6]"}, {{0}}), "float32[1,6]");
  EXPECT_EQ(result("aten::cat", {"float32[4,6]", "float32[2,6]"}), "float32[36]");
  EXPECT_EQ(result("aten::adaptive_avg_pool2d", {"float32[2,8,7,7]"}, {{1, 1}}),
            "float32[2,8,1,1]");
  EXPECT_EQ(result("aten::_foreach_add_", {"float32[4]", "float32[4]"}), "");
  EXPECT_EQ(result("custom::gate", {"float32[2,3,4]", "float32[6,4]", "float32[2]"}),
            "float32[2,3,4]")
      << "sizes that do not fit";
  EXPECT_EQ(result("triton_poi_fused_mul_silu_2", {"float32[2,3,4]", "float32[6,4]"}), "")
      << "what it writes is among its arguments";
}

TEST(AnchoredTime, OnTheSameCardIsTheRecordedOne) {
  for (const double ns : {500.0, 2000.0, 9000.0, 5e6}) {
    for (const char* name : {"H100", "MI300X"}) {
      const TimeParts parts = anchored_time(
          {.call = large_add(), .kernel_class = "elementwise", .ns = ns}, card(name), card(name));
      EXPECT_NEAR(parts.total_ns(), ns, 1e-6 * ns) << name;
    }
  }
}

TEST(AnchoredTime, BytesGoByBandwidthOnCardsOfOneMaker) {
  const double ns = roofline_bound_ns(large_add(), card("H100")) / 0.9;
  const TimeParts parts = anchored_time(
      {.call = large_add(), .kernel_class = "elementwise", .ns = ns}, card("H100"), card("H200"));
  EXPECT_NEAR(parts.total_ns() / ns, 3430.0 / 4800, 0.01);
}

TEST(AnchoredTime, AnotherMakersLibrariesShareLessOfADeviationThanPyTorchsOwnKernels) {
  const OperatorCall softmax = profiled_call("aten::_softmax", {"bfloat16[8,12,3137,3137]"});
  const OperatorCall product =
      profiled_call("aten::mm", {"bfloat16[8192,8192]", "bfloat16[8192,8192]"});
  const auto ratio = [](const OperatorCall& call, std::string_view of_class, double ns) {
    const RecordedKernels recorded{.call = call, .kernel_class = of_class, .ns = ns};
    return anchored_time(recorded, card("H100"), card("MI300X")).total_ns() / ns;
  };
  // Of a kernel that takes 16 times as long, 16^c remain: 16^(c - 1) in the ratio.
  EXPECT_NEAR(ratio(softmax, "softmax", 1.6e9) / ratio(softmax, "softmax", 1e8), 0.5, 0.01);
  EXPECT_NEAR(ratio(product, "matmul", 1.6e9) / ratio(product, "matmul", 1e8), 0.25, 0.01);
}

/// A kernel that takes what its kind usually takes on an H100, on an MI300X.
double usual_there(const OperatorCall& call, std::string_view of_class, double ns) {
  return anchored_time({.call = call, .kernel_class = of_class, .ns = ns}, card("H100"),
                       card("MI300X"))
      .total_ns();
}

TEST(AnchoredTime, ProductsOfHalvesWithOddRowsAreSlowOnNvidiaAboveAll) {
  const auto product = [](const char* left, const char* right) {
    return profiled_call("aten::bmm", {left, right});
  };
  const OperatorCall odd = product("bfloat16[96,3137,64]", "bfloat16[96,64,3137]");
  EXPECT_NEAR(usual_there(odd, "matmul", 1.8e6), 0.965e6, 0.02e6);
  const OperatorCall even = product("bfloat16[96,3138,64]", "bfloat16[96,64,3138]");
  EXPECT_NEAR(usual_there(even, "matmul", 0.85e6), 0.70e6, 0.02e6);
  const OperatorCall wide = product("float32[96,3137,64]", "float32[96,64,3137]");
  const OperatorCall like_it = product("float32[96,3138,64]", "float32[96,64,3138]");
  EXPECT_NEAR(usual_there(wide, "matmul", 3e6), usual_there(like_it, "matmul", 3e6), 0.05e6);
}

TEST(AnchoredTime, LongUnalignedRowsMakeSoftmaxSlowOnEveryCard) {
  const auto there = [](const char* tensor) {
    return usual_there(profiled_call("aten::_softmax", {tensor}), "softmax", 5.5e6);
  };
  EXPECT_NEAR(there("bfloat16[8,12,3137,3137]"), 5.5e6 * 3430 / 5300, 0.05e6);
  // Five and a half million nanoseconds are 3.5 times the usual of aligned rows.
  EXPECT_NEAR(there("bfloat16[8,12,3136,3136]"), 3.0e6, 0.05e6);
}

TEST(AnchoredTime, WhatWasFasterThanThePeaksDoesLessOnEveryCard) {
  const OperatorCall experts =
      profiled_call("vllm::fused_moe", {"bfloat16[16,4096]", "bfloat16[64,22016,4096]"});
  EXPECT_NEAR(usual_there(experts, "other", 2e5), 2e5 * (3430 * 0.7) / (5300 * 0.6), 2e3);
}

TEST(AnchoredTime, KernelsWithoutWorkGoByTheirFloors) {
  const OperatorCall small = profiled_call("aten::add", {"float32[4]", "float32[4]"});
  TimeParts parts = anchored_time({.call = small, .kernel_class = "elementwise", .ns = 1500},
                                  card("H100"), card("MI300X"));
  EXPECT_NEAR(parts.total_ns(), 2200, 1e-6);
  EXPECT_NEAR(parts[TimePart::kFloors], 2200, 1e-6);
  parts = anchored_time({.call = small, .kernel_class = "elementwise", .ns = 1500}, card("H100"),
                        card("B200"));
  EXPECT_NEAR(parts.total_ns(), 1500, 1e-6);
}

TEST(AnchoredTime, ABlockThatFillsNoCardIsLatency) {
  const OperatorCall attention =
      profiled_call("aten::scaled_dot_product_attention",
                    {"bfloat16[1,8,141,64]", "bfloat16[1,8,141,64]", "bfloat16[1,8,141,64]"});
  RecordedKernels recorded{.call = attention, .kernel_class = "attention", .ns = 20000};
  recorded.blocks = 16;
  TimeParts few = anchored_time(recorded, card("H100"), card("MI300X"));
  recorded.blocks = 1600;
  TimeParts many = anchored_time(recorded, card("H100"), card("MI300X"));
  EXPECT_GT(few[TimePart::kLatency], 15000);
  EXPECT_NEAR(many[TimePart::kLatency], 3000 * 3.2 * std::sqrt(1980.0 / 2100), 50);
  EXPECT_GT(few.total_ns(), 1.3 * many.total_ns()) << "a faster card makes no block faster";
}

TEST(AnchoredTime, WhatTheCardDoesNotDecideStays) {
  TimeParts parts = anchored_time(
      {.call = {}, .kernel_class = "communication", .ns = 7000, .crosses_hosts = true},
      card("H100"), card("MI300X"));
  EXPECT_EQ(parts.total_ns(), 7000);
  EXPECT_EQ(parts[TimePart::kKept], 7000);
}

TEST(AnchoredTime, UnknownWorkGoesByPeaks) {
  TimeParts parts = anchored_time({.call = {}, .kernel_class = "other", .ns = 104500}, card("H100"),
                                  card("H200"));
  EXPECT_NEAR(parts[TimePart::kUnknown], 1e5 * 3430 / 4800, 1);
  parts = anchored_time({.call = {}, .kernel_class = "matmul", .ns = 104500}, card("H100"),
                        card("H200"));
  EXPECT_NEAR(parts[TimePart::kUnknown], 1e5, 1);
}

TEST(AnchoredTime, WidthsAddUpWithinAPart) {
  TimeParts parts = anchored_time({.call = {}, .kernel_class = "other", .ns = 104500}, card("H100"),
                                  card("H200"));
  const double half = parts.half_width_ns();
  parts += parts;
  EXPECT_NEAR(parts.half_width_ns(), 2 * half, 1e-6);
  EXPECT_GT(half, 0.2 * parts.total_ns() / 2);
}

}  // namespace
}  // namespace understudy::predictor
