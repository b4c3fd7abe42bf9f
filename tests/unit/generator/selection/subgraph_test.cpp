// What --subgraph takes: what runs below the named nodes, and the backward pass of that.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "generator/flow/autograd.h"
#include "generator/flow/model_names.h"
#include "trace_builder.h"

namespace understudy::generator::test {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kNeg = "aten::neg(Tensor self) -> Tensor";
constexpr const char* kExp = "aten::exp(Tensor self) -> Tensor";
constexpr const char* kAbs = "aten::abs(Tensor self) -> Tensor";

std::string sequence(std::int64_t number) {
  return fmt::format(R"(,{{"name":"seq_id","type":"int64","value":{}}})", number);
}

std::string of_backward(std::int64_t number, int forward_thread = 1) {
  return sequence(number) + fmt::format(R"(,{{"name":"scope","type":"uint64","value":1}},)"
                                        R"({{"name":"fw_tid","type":"uint64","value":{}}})",
                                        forward_thread);
}

/// A step of two modules: relu in "first" (number 5), exp in "second" (6, behind a detach that
/// draws none); backward by neg and abs, each with a sum of gradients beside it, and gradients of
/// two parameters.
TraceBuilder two_modules() {
  TraceBuilder builder;
  const auto first = builder.add(2, "first", "", {}, {});
  builder.add(first, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})},
              sequence(5));
  const auto second = builder.add(2, "second", "", {}, {});
  builder.add(second, "aten::detach", kDetach, {tensor(12, 13, {4})}, {tensor(14, 13, {4})},
              sequence(6));
  builder.add(second, "aten::exp", kExp, {tensor(12, 13, {4})}, {tensor(16, 17, {4})}, sequence(6));
  const auto backward = [&](const std::string& name, std::int64_t number, const std::string& op,
                            const char* schema, const TestValue& gradient,
                            const TestValue& result) {
    const auto outer = builder.add(2, "autograd::engine::evaluate_function: " + name, "", {}, {});
    const auto label = builder.add(outer, name, "", {gradient}, {}, of_backward(number));
    builder.add(label, op, schema, {gradient}, {result});
    return outer;
  };
  const auto accumulate = [&](const TestValue& gradient, std::int64_t id) {
    const auto outer = builder.add(
        2, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "", {}, {});
    const auto label =
        builder.add(outer, "torch::autograd::AccumulateGrad", "", {gradient}, {}, of_backward(-1));
    builder.add(label, "aten::detach", kDetach, {gradient}, {tensor(id, id, {4})});
  };
  const TestValue of_exp = tensor(22, 23, {4});
  backward("ExpBackward0", 6, "aten::abs", kAbs, tensor(20, 21, {4}), of_exp);
  accumulate(of_exp, 31);
  const TestValue of_relu = tensor(24, 25, {4});
  const auto outer = backward("ReluBackward0", 5, "aten::neg", kNeg, of_exp, of_relu);
  builder.add(outer, "aten::relu", kRelu, {of_relu}, {tensor(26, 27, {4})});
  accumulate(of_relu, 33);
  return builder;
}

Names taken(const TraceBuilder& builder, const std::string& subgraph, bool with_backward) {
  return names(
      builder.program({.subgraphs = {subgraph}, .with_backward = with_backward}).instructions);
}

TEST(Subgraph, TakesTheBackwardOfWhatItTakes) {
  const TraceBuilder builder = two_modules();
  EXPECT_EQ(taken(builder, "first", true),
            (Names{"aten::relu", "aten::neg", "aten::relu", "aten::detach"}));
  EXPECT_EQ(taken(builder, "second", true),
            (Names{"aten::detach", "aten::exp", "aten::abs", "aten::detach"}));
}

TEST(Subgraph, LeavesTheBackwardOutWhenAsked) {
  const TraceBuilder builder = two_modules();
  EXPECT_EQ(taken(builder, "first", false), Names{"aten::relu"});
  const et_schema::Program program =
      builder.program({.subgraphs = {"first"}, .with_backward = false});
  EXPECT_EQ(program.selection.filters, (Names{"--subgraph first", "--no-backward"}));
  EXPECT_EQ(program.losses[et_schema::Loss::kFilteredOperators], 7U);
}

TEST(Subgraph, OfABackwardTakesItsOwnBackward) {
  TraceBuilder builder;
  const auto first = builder.add(2, "first", "", {}, {});
  builder.add(first, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})},
              sequence(0));
  const auto once = builder.add(2, "ReluBackward0", "", {}, {}, of_backward(0));
  builder.add(once, "aten::neg", kNeg, {tensor(12, 13, {4})}, {tensor(14, 15, {4})}, sequence(1));
  const auto twice = builder.add(2, "NegBackward0", "", {}, {}, of_backward(1));
  builder.add(twice, "aten::abs", kAbs, {tensor(14, 15, {4})}, {tensor(16, 17, {4})});
  EXPECT_EQ(taken(builder, "first", true), (Names{"aten::relu", "aten::neg", "aten::abs"}));
}

TEST(Forwards, AreThoseOfTheForwardThread) {
  TraceBuilder builder;
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {4})}, {tensor(12, 13, {4})}, sequence(3));
  builder.add(2, "X", "", {}, {}, of_backward(3, 7));
  builder.add(2, "Y", "", {}, {}, of_backward(4, 1));
  builder.add(2, "Z", "", {}, {}, of_backward(3, 1));
  const Trace trace = builder.trace();
  const std::vector<NodeIndex> forwards = find_forwards(trace);
  EXPECT_EQ(forwards,
            (std::vector<NodeIndex>{et_schema::kNoNode, et_schema::kNoNode, et_schema::kNoNode,
                                    et_schema::kNoNode, et_schema::kNoNode, 2}));
}

}  // namespace
}  // namespace understudy::generator::test
