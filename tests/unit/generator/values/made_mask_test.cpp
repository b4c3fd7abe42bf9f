// Masks that decide shapes are made anew: what follows from the elements that they select need not
// fit, nor be all.

#include <gtest/gtest.h>

#include "trace_builder.h"
#include "value_kinds.h"

namespace understudy::generator::test {
namespace {

constexpr const char* kMaskedSelect = "aten::masked_select(Tensor self, Tensor mask) -> Tensor";

void look_up(TraceBuilder& builder, const TestValue& indices) {
  builder.add(2, "aten::embedding",
              "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
              "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
              {tensor(30, 31, {50, 8}), indices, integer(-1), integer(0), integer(0)},
              {tensor(32, 33, {6, 8})});
}

/// As an adaptive softmax has it: the classes of a cluster, counted from its first one.
void select_a_cluster(TraceBuilder& builder, const std::string& arithmetic) {
  builder.add(2, "aten::masked_select", kMaskedSelect,
              {tensor(10, 11, {9}, "long int"), tensor(12, 13, {9}, "bool")},
              {tensor(14, 15, {6}, "long int")});
  builder.add(2, "aten::" + arithmetic,
              "aten::" + arithmetic + ".Scalar(Tensor self, Scalar other) -> Tensor",
              {tensor(14, 15, {6}, "long int"), integer(100)}, {tensor(16, 17, {6}, "long int")});
  look_up(builder, tensor(16, 17, {6}, "long int"));
}

TEST(MadeMasks, IndicesComputedOfWhatAMadeMaskSelectsArePinned) {
  TraceBuilder builder;
  select_a_cluster(builder, "sub");
  const Program program = builder.program();
  EXPECT_FALSE(program.instructions[0].pinned);
  EXPECT_TRUE(program.instructions[1].pinned);
  const Slot& indices = argument_slot(program, 2, 1);
  EXPECT_EQ(indices.value, integers(0, 50, "aten::embedding.indices"));
}

TEST(MadeMasks, WhatIsAskedOfASelectionIsNotAskedOfAll) {
  TraceBuilder builder;
  builder.add(2, "aten::masked_select", kMaskedSelect,
              {tensor(10, 11, {9}, "long int"), tensor(12, 13, {9}, "bool")},
              {tensor(14, 15, {6}, "long int")});
  look_up(builder, tensor(14, 15, {6}, "long int"));
  const Program program = builder.program();
  EXPECT_TRUE(program.instructions[0].pinned);
  EXPECT_FALSE(argument_slot(program, 0, 0).value);
}

TEST(MadeMasks, AMaskSelectsAsManyAsTheNumbersBesideIt) {  // targets[mask, labels] = 1
  TraceBuilder builder;
  builder.add(
      2, "aten::index_put_",
      "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool "
      "accumulate=False) -> Tensor(a!)",
      {tensor(10, 11, {9, 4}), list({tensor(12, 13, {9}, "bool"), tensor(14, 15, {6}, "long int")}),
       tensor(16, 17, {}), integer(0)},
      {tensor(10, 11, {9, 4})});
  const Program program = builder.program();
  const auto& indices = std::get<Argument::List>(program.instructions[0].args[1].value);
  const Slot& mask = program.slots[std::get<Argument::SlotRef>(indices[0].value).id];
  ASSERT_TRUE(mask.value.has_value());
  EXPECT_EQ(mask.value->kind, ValueRule::Kind(ValueRule::Mask{6}));
}

/// frames[mask] = values, of 2 x 24 frames of 64 numbers.
std::optional<ValueRule> rule_of_a_mask_of_frames(std::vector<std::int64_t> values) {
  TraceBuilder builder;
  builder.add(2, "aten::index_put_",
              "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool "
              "accumulate=False) -> Tensor(a!)",
              {tensor(10, 11, {2, 24, 64}), list({tensor(12, 13, {2, 24}, "bool")}),
               tensor(16, 17, std::move(values)), integer(0)},
              {tensor(10, 11, {2, 24, 64})});
  const Program program = builder.program();
  const auto& indices = std::get<Argument::List>(program.instructions[0].args[1].value);
  return program.slots[std::get<Argument::SlotRef>(indices[0].value).id].value;
}

TEST(MadeMasks, AMaskSelectsAsManyAsThereAreValuesUnlessTheseAreBroadcast) {
  const std::optional<ValueRule> told = rule_of_a_mask_of_frames({30, 64});
  ASSERT_TRUE(told);
  EXPECT_EQ(told->kind, ValueRule::Kind(ValueRule::Mask{30}));
  EXPECT_FALSE(rule_of_a_mask_of_frames({64})) << "a row for each";
  EXPECT_FALSE(rule_of_a_mask_of_frames({1, 64}));
}

/// The rule of a mask, the second argument, of which the operator selects.
std::optional<ValueRule> rule_of_mask(const char* schema, const std::vector<TestValue>& inputs,
                                      const TestValue& result) {
  TraceBuilder builder;
  builder.add(2, std::string(schema).substr(0, std::string(schema).find('(')), schema, inputs,
              {result});
  return argument_slot(builder.program(), 0, 1).value;
}

TEST(MadeMasks, AMaskThatIsBroadcastSelectsSeveralWithEachElement) {
  constexpr const char* kScatter =
      "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor";
  const TestValue frames = tensor(10, 11, {3, 7, 8});
  EXPECT_EQ(
      rule_of_mask(kScatter, {frames, tensor(12, 13, {3, 7, 1}, "bool"), tensor(14, 15, {5, 8})},
                   tensor(16, 17, {3, 7, 8})),
      mask(5, "aten::masked_scatter.mask"));
  EXPECT_EQ(rule_of_mask(
                kScatter,
                {tensor(10, 11, {3, 1, 8}), tensor(12, 13, {7, 1}, "bool"), tensor(14, 15, {1000})},
                tensor(16, 17, {3, 7, 8})),
            mask(7, "aten::masked_scatter.mask"))
      << "more to select than the mask has";
  EXPECT_EQ(
      rule_of_mask(kMaskedSelect, {frames, tensor(12, 13, {7, 8}, "bool")}, tensor(16, 17, {30})),
      mask(10, "aten::masked_select.mask"));
  EXPECT_EQ(
      rule_of_mask("aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] "
                   "sizes) -> Tensor",
                   {frames, tensor(12, 13, {3, 7, 1}, "bool"), list({integer(5), integer(8)})},
                   tensor(16, 17, {5, 8})),
      mask(5, "aten::masked_scatter_backward.mask"));
}

TEST(MadeMasks, IndicesThatAnOperatorBoundsItselfAreNotPinned) {
  TraceBuilder builder;
  select_a_cluster(builder, "remainder");
  const Program program = builder.program();
  EXPECT_FALSE(program.instructions[1].pinned);
}

TEST(MadeMasks, IndicesComputedOfWhatIsAllThereAreNotPinned) {
  TraceBuilder builder;
  builder.add(2, "aten::sub", "aten::sub.Scalar(Tensor self, Scalar other) -> Tensor",
              {tensor(14, 15, {6}, "long int"), integer(100)}, {tensor(16, 17, {6}, "long int")});
  look_up(builder, tensor(16, 17, {6}, "long int"));
  EXPECT_FALSE(builder.program().instructions[0].pinned);
}

TEST(MadeMasks, MemoryThatMadeMasksWriteIsPinned) {
  TraceBuilder builder;  // the recorded masks wrote all of it, the made ones leave elements out
  builder.add(2, "aten::empty",
              "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None) -> Tensor",
              {list({integer(6)})}, {tensor(10, 11, {6}, "long int")});
  builder.add(2, "aten::nonzero", "aten::nonzero(Tensor self) -> Tensor",
              {tensor(12, 13, {6}, "bool")}, {tensor(14, 15, {2, 1}, "long int")});
  builder.add(
      2, "aten::index_fill_",
      "aten::index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) "
      "-> Tensor(a!)",
      {tensor(10, 11, {6}, "long int"), integer(0), tensor(16, 15, {2}, "long int"), integer(7)},
      {tensor(10, 11, {6}, "long int")});
  look_up(builder, tensor(10, 11, {6}, "long int"));
  const Program program = builder.program();
  EXPECT_TRUE(program.instructions[0].pinned);
  EXPECT_FALSE(program.instructions[1].pinned);
}

TEST(MadeMasks, WhatIsCopiedIntoIndicesFitsToo) {
  TraceBuilder builder;
  builder.add(2, "aten::index_copy_",
              "aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> "
              "Tensor(a!)",
              {tensor(10, 11, {6}, "long int"), integer(0), tensor(12, 13, {2}, "long int"),
               tensor(14, 15, {2}, "long int")},
              {tensor(10, 11, {6}, "long int")});
  look_up(builder, tensor(10, 11, {6}, "long int"));
  const Program program = builder.program();
  const Slot& source = argument_slot(program, 0, 3);
  EXPECT_EQ(source.value, integers(0, 50, "aten::embedding.indices"));
}

}  // namespace
}  // namespace understudy::generator::test
