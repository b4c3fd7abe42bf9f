#include "replayer/dispatch/schema_map.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "et_schema/facts/public_operators.h"
#include "program_builder.h"

namespace understudy::replayer::testing {
namespace {

using Names = std::vector<std::string>;

TEST(RecordedSchema, NamesAndTypesAreReadFromTheText) {
  const RecordedSchema schema = parse_recorded_schema(
      "aten::sum.dim_IntList(Tensor self, int[1]? dim=[1, 2], bool keepdim=False, *, str mode=\"a,"
      " b)\", ScalarType? dtype=None) -> Tensor");
  EXPECT_EQ(schema.name, "aten::sum");
  EXPECT_EQ(schema.overload, "dim_IntList");
  EXPECT_EQ(schema.arguments, (Names{"self", "dim", "keepdim", "mode", "dtype"}));
  EXPECT_EQ(schema.types, (Names{"Tensor", "int[1]?", "bool", "str", "ScalarType?"}));
}

TEST(RecordedSchema, SymbolicIntegersAreIntegers) {
  const RecordedSchema schema =
      parse_recorded_schema("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)");
  EXPECT_EQ(schema.types, (Names{"Tensor(a)", "int[]"}));
}

TEST(RecordedSchema, WhatIsLaidOutInPlaceIsKnownByName) {
  std::size_t tagged = 0;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto handle = dispatcher.findSchema(name);
    if (handle && handle->hasTag(at::Tag::inplace_view)) {
      EXPECT_TRUE(et_schema::lays_out_in_place(name.name)) << name;
      ++tagged;
    }
  }
  EXPECT_GT(tagged, 10U);
  EXPECT_FALSE(et_schema::lays_out_in_place("aten::transpose"));
  EXPECT_FALSE(et_schema::lays_out_in_place("aten::add_"));
}

TEST(RecordedSchema, BareNamesHaveNoArguments) {
  const RecordedSchema schema = parse_recorded_schema("aten::relu");
  EXPECT_EQ(schema.name, "aten::relu");
  EXPECT_TRUE(schema.arguments.empty());
}

MatchResult match(const std::string& schema, const std::vector<Argument>& arguments) {
  return match_operator(parse_recorded_schema(schema), arguments);
}

TEST(MatchOperator, SameSchemaIsMatchedByPosition) {
  const MatchResult result = match(kAdd, {ref(0), ref(1), number(1)});
  ASSERT_TRUE(result.match.has_value());
  EXPECT_EQ(toString(result.match->handle.operator_name()), "aten::add.Tensor");
  EXPECT_EQ(result.match->sources, (std::vector<std::optional<std::size_t>>{{0}, {1}, {2}}));
}

TEST(MatchOperator, NewArgumentsGetTheirDefaults) {
  const MatchResult result = match("aten::gelu(Tensor self) -> Tensor", {ref(0)});
  ASSERT_TRUE(result.match.has_value());
  EXPECT_EQ(result.match->sources, (std::vector<std::optional<std::size_t>>{{0}, std::nullopt}));
}

TEST(MatchOperator, ReorderedArgumentsAreMatchedByName) {
  const MatchResult result =
      match("aten::add.Tensor(Tensor other, Scalar alpha, Tensor self) -> Tensor",
            {ref(0), number(1), ref(2)});
  ASSERT_TRUE(result.match.has_value());
  EXPECT_EQ(result.match->sources, (std::vector<std::optional<std::size_t>>{{2}, {0}, {1}}));
}

TEST(MatchOperator, UnknownOverloadsFallBackToOneThatTakesTheArguments) {
  const MatchResult result = match("aten::relu.ancient(Tensor self) -> Tensor", {ref(0)});
  ASSERT_TRUE(result.match.has_value());
  EXPECT_EQ(toString(result.match->handle.operator_name()), "aten::relu");
}

TEST(MatchOperator, RenamedOperatorsAreFound) {
  const MatchResult result =
      match("aten::_cat(Tensor[] tensors, int dim=0) -> Tensor", {list({ref(0)}), number(0)});
  ASSERT_TRUE(result.match.has_value());
  EXPECT_EQ(toString(result.match->handle.operator_name()), "aten::cat");
}

TEST(MatchOperator, UnknownOperatorsAreNamedSo) {
  const MatchResult result = match("nobody::knows(Tensor self) -> Tensor", {ref(0)});
  EXPECT_FALSE(result.match.has_value());
  EXPECT_EQ(result.reason, "this LibTorch has no such operator");
}

TEST(MatchOperator, ATensorIsNeverLeftOut) {
  const MatchResult result = match(
      "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, Tensor self) -> "
      "Tensor",
      {ref(0), ref(1), number(1), ref(2)});
  EXPECT_FALSE(result.match.has_value());
  EXPECT_EQ(result.reason, "its recorded tensor 'self' has no place in today's schema");
}

TEST(MatchOperator, ANewArgumentWithoutDefaultIsNoMatch) {
  const MatchResult result =
      match("aten::_softmax(Tensor self, int dim) -> Tensor", {ref(0), number(1)});
  EXPECT_FALSE(result.match.has_value());
  EXPECT_EQ(result.reason, "today's schema needs 'half_to_float', which was not recorded");
}

TEST(HasKernel, OperatorsOfCudaAloneHaveNoneOnTheCpu) {
  const auto find = [](const char* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  };
  EXPECT_FALSE(has_kernel(find("aten::cudnn_batch_norm_backward"), c10::kCPU));
  EXPECT_TRUE(has_kernel(find("aten::relu"), c10::kCPU));
  EXPECT_TRUE(has_kernel(find("aten::conv2d"), c10::kCPU));
}

}  // namespace
}  // namespace understudy::replayer::testing
