// Which operators are replayed as they were called, and which by the operators below them.

#include "generator/selection/selection.h"

#include <gtest/gtest.h>

#include "trace_builder.h"

namespace understudy::generator::test {
namespace {

using et_schema::Opened;
using et_schema::Program;
using Names = std::vector<std::string>;

constexpr const char* kAttention =
    "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
    "attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool "
    "enable_gqa=False) -> Tensor";
constexpr const char* kPlain =
    "aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? "
    "attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, "
    "float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)";
constexpr const char* kFlash =
    "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, "
    "float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> "
    "(Tensor output, Tensor logsumexp)";

const TestValue kFalse = {"false", "[]", "Bool", "[]"};

TestValue number(const std::string& text) {
  return {text, "[]", "Double", "[]"};
}

/// An attention of which nothing but the result is used, by one of its two ways.
Program attention(bool is_plain, const std::string& dropout) {
  TraceBuilder builder;
  const TestValue query = tensor(10, 11, {2, 4, 8, 16});
  const TestValue key = tensor(12, 13, {2, 4, 8, 16});
  const TestValue value = tensor(14, 15, {2, 4, 8, 16});
  const TestValue mask = tensor(16, 17, {2, 4, 8, 8});
  const TestValue result = tensor(20, 21, {2, 4, 8, 16});
  const auto call =
      builder.add(2, "aten::scaled_dot_product_attention", kAttention,
                  {query, key, value, mask, number(dropout), kFalse, none(), kFalse}, {result});
  if (is_plain) {
    builder.add(call, "aten::_scaled_dot_product_attention_math", kPlain,
                {query, key, value, mask, number(dropout), kFalse, none(), none(), kFalse},
                {result, tensor(22, 23, {2, 4, 8, 8})});
  } else {
    builder.add(call, "aten::_scaled_dot_product_flash_attention_for_cpu", kFlash,
                {query, key, value, number(dropout), kFalse, mask, none()},
                {result, tensor(22, 23, {2, 4, 8})});
  }
  return builder.program();
}

TEST(Selection, AttentionThatTookThePlainWayTakesItAgain) {
  const Program program = attention(true, "0.0");
  EXPECT_EQ(names(program.instructions), Names{"aten::_scaled_dot_product_attention_math"});
  const std::vector<Opened> opened = {
      {"aten::scaled_dot_product_attention", 1,
       "it chose by what a replay does not know, as who wants gradients"}};
  EXPECT_EQ(program.selection.opened, opened);
}

TEST(Selection, AttentionThatAReplayTakesAlikeStaysWhole) {
  for (const Program& program : {attention(false, "0.0"), attention(true, "0.1")}) {
    EXPECT_EQ(names(program.instructions), Names{"aten::scaled_dot_product_attention"});
    EXPECT_TRUE(program.selection.opened.empty());
  }
}

TEST(Selection, AnOperatorThatCommunicatesIsOpened) {
  TraceBuilder builder;
  const TestValue x = tensor(10, 11, {4});
  const TestValue sum = tensor(12, 13, {4});
  const auto outer =
      builder.add(2, "vllm::all_reduce",
                  "vllm::all_reduce(Tensor tensor, str group_name) -> Tensor", {x, none()}, {sum});
  const auto inner = builder.add(outer, "vllm::prepare", "vllm::prepare(Tensor x) -> Tensor", {x},
                                 {tensor(14, 15, {4})});
  builder.add(inner, "aten::relu", kRelu, {x}, {tensor(14, 15, {4})});
  builder.add(outer, "aten::relu", kRelu, {tensor(14, 15, {4})}, {sum});
  builder.add(outer, "c10d::allreduce_",
              "c10d::allreduce_(Tensor[] tensors, __torch__.torch.classes.c10d.ProcessGroup "
              "process_group, __torch__.torch.classes.c10d.ReduceOp reduce_op, Tensor? "
              "sparse_indices, bool async_op=True, int timeout=-1) -> (Tensor[], "
              "__torch__.torch.classes.c10d.Work)",
              {list({sum})}, {});
  for (const Only only : {Only::kAll, Only::kComms}) {
    const Program program = builder.program({.only = only});
    EXPECT_EQ(names(program.instructions), only == Only::kAll
                                               ? (Names{"vllm::prepare", "aten::relu", "allreduce"})
                                               : Names{"allreduce"});
    const std::vector<Opened> opened = {
        {"vllm::all_reduce", 1, "it communicates, which a replay does itself"}};
    EXPECT_EQ(program.selection.opened, opened);
  }
}

TEST(Selection, AnOperatorInWhichAutocastCastsIsOpened) {
  for (const char* type : {"c10::Half", "float"}) {
    TraceBuilder builder;
    const TestValue x = tensor(10, 11, {4});
    const auto outer =
        builder.add(2, "aten::einsum", "aten::einsum(str equation, Tensor[] x) -> Tensor",
                    {none(), list({x})}, {tensor(18, 19, {4})});
    const auto label = builder.add(outer, "a label", "", {}, {});
    const auto cast = builder.add(label, "aten::relu", kRelu, {x}, {tensor(16, 17, {4}, type)});
    builder.add(cast, "aten::to", "aten::to.dtype(Tensor(a) self) -> Tensor(a)", {x},
                {tensor(12, 13, {4}, type)});
    if (std::string(type) != "float") {
      builder.add(cast, "aten::relu", kRelu, {tensor(12, 13, {4}, type)},
                  {tensor(16, 17, {4}, type)});
    }
    builder.add(outer, "aten::sqrt", kSqrt, {tensor(16, 17, {4}, type)}, {tensor(18, 19, {4})});
    const Program program = builder.program();
    if (std::string(type) == "float") {
      EXPECT_EQ(names(program.instructions), Names{"aten::einsum"});
      continue;
    }
    EXPECT_EQ(names(program.instructions), (Names{"aten::to.dtype", "aten::relu", "aten::sqrt"}));
    EXPECT_EQ(program.selection.opened,
              (std::vector<Opened>{{"aten::einsum", 1, "autocast casts inside of it"},
                                   {"aten::relu", 1, "it holds an operator of the same schema"}}));
  }
}

}  // namespace
}  // namespace understudy::generator::test
