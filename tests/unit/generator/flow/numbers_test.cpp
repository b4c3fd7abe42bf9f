// Python numbers are tensors that the argument parser makes, one after the other at the same
// address.

#include <gtest/gtest.h>

#include "generator/flow/model_names.h"
#include "trace_builder.h"

namespace understudy::generator::test {
namespace {

constexpr const char* kFloorDivide = "aten::floor_divide(Tensor self, Tensor other) -> Tensor";
constexpr const char* kAddInPlace =
    "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)";
constexpr const char* kLiftFresh = "aten::lift_fresh(Tensor(a) self) -> Tensor(a)";

std::string seen(std::int64_t number, int index = 1) {
  const std::string text = std::to_string(number);
  return R"(,{"name":"tensor_range","type":"string","value":"{\")" + std::to_string(index) +
         R"(\":[)" + text + "," + text + R"(]}"})";
}

TEST(Numbers, OtherNumbersAtAnAddressAreOtherTensors) {
  TraceBuilder builder;
  const TestValue number = tensor(50, 51, {}, "long int");
  for (std::int64_t i = 0; i < 3; ++i) {
    builder.add(2, "aten::floor_divide", kFloorDivide, {tensor(10, 11, {4}, "long int"), number},
                {tensor(20 + 2 * i, 21 + 2 * i, {4}, "long int")}, seen(i < 2 ? 600 : 7));
  }
  const Program program = builder.program();
  const Slot& first = argument_slot(program, 0, 1);
  const Slot& third = argument_slot(program, 2, 1);
  EXPECT_EQ(&first, &argument_slot(program, 1, 1));
  EXPECT_NE(first.storage, third.storage);
  ASSERT_TRUE(first.value.has_value());
  ASSERT_TRUE(third.value.has_value());
  EXPECT_EQ(et_schema::range_of(*first.value), (et_schema::IntegerRange{600, 601}))
      << "what was seen goes before what a divisor may be";
  EXPECT_EQ(et_schema::range_of(*third.value), (et_schema::IntegerRange{7, 8}));
}

TEST(Numbers, ACounterThatTheStepWritesIsOneTensor) {
  TraceBuilder builder;
  const TestValue counter = tensor(50, 51, {}, "long int");
  for (std::int64_t i = 0; i < 2; ++i) {
    builder.add(2, "aten::add_", kAddInPlace, {counter, tensor(60, 61, {}, "long int"), integer(1)},
                {counter}, seen(5 + i, 0));
  }
  const Program program = builder.program();
  EXPECT_EQ(argument_slot(program, 0, 0).storage, argument_slot(program, 1, 0).storage);
}

TEST(Numbers, ANumberWhereALargerTensorLayIsNoViewOfIt) {
  TraceBuilder builder;
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {24}, "double")},
              {tensor(12, 13, {24}, "double")});
  builder.add(2, "aten::add", kAdd, {tensor(20, 21, {4}), tensor(14, 13, {}, "double"), integer(1)},
              {tensor(22, 23, {4})});
  const Program program = builder.program();
  ASSERT_EQ(program.instructions.size(), 2U) << "no alias";
  EXPECT_TRUE(argument_slot(program, 1, 1).wrapped_number);
}

TEST(Numbers, WhatTorchTensorMakesIsNoViewOfWhatLayThere) {
  TraceBuilder builder;
  builder.add(2, "aten::relu", kRelu, {tensor(10, 11, {16})}, {tensor(12, 13, {16})});
  builder.add(2, "aten::lift_fresh", kLiftFresh, {tensor(14, 13, {})}, {tensor(14, 13, {})});
  const Program program = builder.program();
  ASSERT_EQ(program.instructions.size(), 2U) << "no alias";
  EXPECT_TRUE(argument_slot(program, 1, 0).external);
}

}  // namespace
}  // namespace understudy::generator::test
