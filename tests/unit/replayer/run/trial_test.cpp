#include "replayer/run/trial.h"

#include <gtest/gtest.h>

#include "fixture.h"

namespace understudy::replayer::testing {
namespace {

constexpr const char* kToDtype =
    "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)";
constexpr std::int64_t kBFloat16Number = 15;

class TrialTest : public ReplayerTest {
 protected:
  /// relu of a float, recorded as bfloat16 because a cast happened inside, as under autocast.
  Instruction& add_autocast_relu() {
    x_ = builder_.external(DType::kFloat32, {4}, constant(1));
    const SlotId cast = builder_.intermediate(DType::kBFloat16, {4});
    y_ = builder_.intermediate(DType::kBFloat16, {4});
    Instruction outer = builder_.op(kRelu, {ref(x_)}, {ref(y_)});
    outer.body = {
        builder_.op(kToDtype, {ref(x_), number(kBFloat16Number), flag(false), flag(false), none()},
                    {ref(cast)}),
        builder_.op(kRelu, {ref(cast)}, {ref(y_)})};
    return builder_.add(std::move(outer));
  }

  SlotId x_ = 0;
  SlotId y_ = 0;
};

TEST_F(TrialTest, AnOperatorOfAnotherDtypeIsReplacedByItsBody) {
  add_autocast_relu();
  const SlotId out = sink(DType::kBFloat16, {4});
  keep(y_, out);
  const TrialResult& result = try_out();
  EXPECT_EQ(result.output_mismatches, 0U);
  EXPECT_EQ(result.outputs_checked, 3U);
  EXPECT_EQ(result.program.steps.size(), 3U);
  EXPECT_EQ(decisions_->coverage().exact, 2U);
  EXPECT_EQ(slot(out)[0].item<float>(), 1.0F);
}

TEST_F(TrialTest, WithoutABodyItIsCountedAndNamed) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.intermediate(DType::kBFloat16, {4});
  builder_.add_op(kRelu, {ref(x)}, {ref(y)});
  const TrialResult& result = try_out();
  EXPECT_EQ(result.output_mismatches, 1U);
  ASSERT_EQ(result.mismatches.size(), 1U);
  EXPECT_EQ(result.mismatches[0].node, 101U);
  EXPECT_EQ(result.mismatches[0].name, "aten::relu");
  EXPECT_EQ(result.mismatches[0].field, "dtype");
  EXPECT_EQ(result.mismatches[0].expected, "bfloat16");
  EXPECT_EQ(result.mismatches[0].got, "float32");
}

TEST_F(TrialTest, ABodyOfAllocationsAloneStandsForNothing) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.intermediate(DType::kBFloat16, {4});
  Instruction outer = builder_.op(kRelu, {ref(x)}, {ref(y)});
  outer.body = {builder_.op(
      "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
      {numbers({4}), number(kBFloat16Number), none(), none(), none(), none()}, {ref(y)})};
  builder_.add(std::move(outer));
  EXPECT_EQ(try_out().output_mismatches, 1U);
}

// Below oneDNN's convolution stand an allocation, as_strided_ and resize_.
TEST_F(TrialTest, ABodyOfViewsOfFreshMemoryStandsForNothing) {
  const SlotId fresh = builder_.intermediate(DType::kFloat32, {4});
  const SlotId y = builder_.view(fresh, {2, 2}, {2, 1}, 0);
  const SlotId x = builder_.external(DType::kFloat32, {2, 2}, constant(1));
  Instruction outer = builder_.op("nobody::relu(Tensor self) -> Tensor", {ref(x)}, {ref(y)});
  outer.body = {builder_.op("aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, "
                            "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
                            "MemoryFormat? memory_format=None) -> Tensor",
                            {numbers({4}), none(), none(), none(), none(), none()}, {ref(fresh)}),
                builder_.op("aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? "
                            "memory_format=None) -> Tensor(a!)",
                            {ref(fresh), numbers({4}), none()}, {ref(fresh)}),
                builder_.op("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
                            {ref(fresh), numbers({2, 2})}, {ref(y)})};
  builder_.add(std::move(outer));
  try_out();
  EXPECT_EQ(decisions_->coverage().dropped.size(), 1U);
}

// What numpy does in an operator written in Python is in no trace.
TEST_F(TrialTest, ABodyThatOnlyReturnsWhatItGotStandsForNothing) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const Instruction to =
      builder_.op(kToDtype, {ref(x), number(6), flag(false), flag(false), none()}, {ref(x)});
  Instruction counts = builder_.op("nobody::counts(Tensor x) -> int", {ref(x)}, {});
  counts.body = {to};
  builder_.add(std::move(counts));
  Instruction fills = builder_.op("nobody::fills(Tensor(a!) x) -> ()", {ref(x)}, {});
  fills.body = {to, builder_.op("aten::item(Tensor self) -> Scalar", {ref(x)}, {})};
  builder_.add(std::move(fills));
  try_out();
  EXPECT_EQ(decisions_->coverage().dropped.size(), 2U);
}

// Below randperm into a given tensor stand a scalar_tensor and resize_.
TEST_F(TrialTest, ABodyThatOnlyShapesWhatTheOperatorWritesStandsForNothing) {
  const char* const add_out =
      "nobody::add(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";
  const char* const resize =
      "aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> "
      "Tensor(a!)";
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId sums = sink(DType::kFloat32, {4});
  Instruction outer = builder_.op(add_out, {ref(x), ref(x), number(1), ref(sums)}, {ref(sums)});
  outer.body = {builder_.op(resize, {ref(sums), numbers({4}), none()}, {ref(sums)})};
  builder_.add(std::move(outer));
  try_out();
  EXPECT_EQ(decisions_->coverage().dropped.size(), 1U);
}

// The body writes it through a view.
TEST_F(TrialTest, ABodyThatWritesWhatTheOperatorWritesStandsForIt) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId sums = sink(DType::kFloat32, {4});
  const SlotId part = builder_.view(sums, {2}, {1}, 0);
  Instruction outer =
      builder_.op("nobody::add_(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
                  {ref(sums), ref(x), number(1)}, {ref(sums)});
  outer.body = {
      builder_.op("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
                  {ref(sums), number(0), number(0), number(2)}, {ref(part)}),
      builder_.op("aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
                  {ref(part), number(5)}, {ref(part)})};
  builder_.add(std::move(outer));
  try_out();
  EXPECT_EQ(slot(sums)[0].item<float>(), 5.0F);
  EXPECT_EQ(slot(sums)[3].item<float>(), 0.0F);
}

TEST_F(TrialTest, StridesAreComparedWhereSizesAreAboveOne) {
  const SlotId x = builder_.external(DType::kFloat32, {4, 1}, constant(1));
  const SlotId y = builder_.intermediate(DType::kFloat32, {4, 1});
  builder_.slot(y).strides = {1, 77};
  const SlotId z = builder_.intermediate(DType::kFloat32, {4, 1});
  builder_.slot(z).strides = {2, 1};
  builder_.add_op(kRelu, {ref(x)}, {ref(y)});
  builder_.add_op(kRelu, {ref(x)}, {ref(z)});
  const TrialResult& result = try_out();
  EXPECT_EQ(result.output_mismatches, 1U);
  EXPECT_EQ(result.mismatches[0].field, "stride");
  EXPECT_EQ(result.mismatches[0].expected, "[2, 1]");
  EXPECT_EQ(result.mismatches[0].got, "[1, 1]");
}

TEST_F(TrialTest, UndefinedOnBothSidesIsEqual) {
  const SlotId grad = builder_.external(DType::kFloat32, {1, 1, 4, 4}, constant(1));
  const SlotId input = builder_.external(DType::kFloat32, {1, 1, 4, 4}, constant(1));
  const SlotId weight = builder_.external(DType::kFloat32, {1, 1, 1, 1}, constant(1));
  const SlotId grad_weight = builder_.intermediate(DType::kFloat32, {1, 1, 1, 1});
  builder_.add_op(
      "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? "
      "bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] "
      "output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
      {ref(grad), ref(input), ref(weight), none(), numbers({1, 1}), numbers({0, 0}),
       numbers({1, 1}), flag(false), numbers({0, 0}), number(1),
       list({flag(false), flag(true), flag(false)})},
      {undefined(), ref(grad_weight), undefined()});
  EXPECT_EQ(try_out().output_mismatches, 0U);
  EXPECT_EQ(result_.outputs_checked, 3U);
}

TEST_F(TrialTest, ShapesThatDependOnDataArePinned) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId found = builder_.intermediate(DType::kInt64, {2, 1});
  const SlotId out = sink(DType::kInt64, {2, 1});
  builder_.add_op(kNonzero, {ref(x)}, {ref(found)});  // gives four
  keep(found, out);
  EXPECT_EQ(try_out().output_mismatches, 0U);
  ASSERT_EQ(decisions_->coverage().pinned_outputs.size(), 1U);
  EXPECT_EQ(decisions_->coverage().count, 1.0);
  EXPECT_EQ(decisions_->coverage().pinned_outputs[0].note, "its shape depends on values");
}

TEST_F(TrialTest, RepeatsWithoutTheOperatorBelowArePinned) {
  const SlotId x = builder_.external(DType::kFloat32, {2}, constant(1));
  const SlotId repeats = builder_.external(DType::kInt64, {2}, constant(3));
  const SlotId repeated = builder_.intermediate(DType::kFloat32, {4});
  const SlotId out = sink(DType::kFloat32, {4});
  builder_.add_op(
      "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? "
      "output_size=None) -> Tensor",
      {ref(x), ref(repeats), none(), none()}, {ref(repeated)});  // gives six
  keep(repeated, out);
  EXPECT_EQ(try_out().output_mismatches, 0U);
  ASSERT_EQ(decisions_->coverage().pinned_outputs.size(), 1U);
  EXPECT_EQ(decisions_->coverage().pinned_outputs[0].note, "its shape depends on values");
}

TEST_F(TrialTest, PinningHidesNoWrongDtype) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId found = builder_.intermediate(DType::kInt32, {2, 1});
  const SlotId out = sink(DType::kInt32, {2, 1});
  builder_.add_op(kNonzero, {ref(x)}, {ref(found)});  // gives int64
  keep(found, out);
  const TrialResult& result = try_out();
  EXPECT_EQ(result.output_mismatches, 1U);
  ASSERT_EQ(result.mismatches.size(), 1U);
  EXPECT_EQ(result.mismatches[0].field, "dtype");
  EXPECT_EQ(result.mismatches[0].expected, "int32");
  EXPECT_EQ(result.mismatches[0].got, "int64");
  EXPECT_EQ(result.outputs_checked, 2U);
  EXPECT_EQ(decisions_->coverage().pinned_outputs.size(), 1U);
}

TEST_F(TrialTest, PinningHidesNoUndefinedResult) {
  const SlotId x = builder_.external(DType::kInt64, {4}, constant(1));
  const SlotId values = builder_.intermediate(DType::kInt64, {1});
  Instruction& unique = builder_.add_op(
      "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool "
      "return_counts=False) -> (Tensor, Tensor, Tensor)",
      {ref(x), flag(true), flag(false), flag(false)}, {ref(values), undefined(), undefined()});
  unique.pinned = true;
  const TrialResult& result = try_out();
  ASSERT_EQ(result.mismatches.size(), 2U);  // both are empty tensors, not undefined ones
  EXPECT_EQ(result.mismatches[1].field, "undefined");
  EXPECT_EQ(result.mismatches[1].expected, "undefined");
  EXPECT_EQ(result.mismatches[1].got, "int64[0] strides [1]");
}

TEST_F(TrialTest, MemoryThatNothingWritesIsPinnedForThat) {
  const SlotId made = builder_.intermediate(DType::kFloat32, {4});
  builder_
      .add_op(
          "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? "
          "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
          "memory_format=None) -> Tensor",
          {numbers({4}), number(6), none(), none(), none(), none()}, {ref(made)})
      .pinned = true;
  keep(made, sink(DType::kFloat32, {4}));
  EXPECT_EQ(try_out().output_mismatches, 0U);
  ASSERT_EQ(decisions_->coverage().pinned_outputs.size(), 1U);
  EXPECT_EQ(decisions_->coverage().pinned_outputs[0].note,
            "memory that is read before all of it is written");
}

TEST_F(TrialTest, IndicesOfMadeValuesArePinnedForThat) {
  const SlotId x = builder_.external(DType::kInt64, {4}, constant(1));
  const SlotId made = builder_.intermediate(DType::kInt64, {4});
  builder_
      .add_op("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
              {ref(x), number(6), number(1)}, {ref(made)})
      .pinned = true;
  keep(made, sink(DType::kInt64, {4}));
  EXPECT_EQ(try_out().output_mismatches, 0U);
  ASSERT_EQ(decisions_->coverage().pinned_outputs.size(), 1U);
  EXPECT_EQ(decisions_->coverage().pinned_outputs[0].note,
            "made values would not give numbers that fit");
}

constexpr const char* kIndexSelect =
    "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor";
constexpr const char* kAddScalar =
    "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor";

TEST_F(TrialTest, IndicesOutsideOfWhatTheyPickFromArePinnedWhereTheyAreMade) {
  const SlotId x = builder_.external(DType::kInt64, {4}, constant(1));
  const SlotId table = builder_.external(DType::kFloat32, {5, 2}, constant(3));
  const SlotId made = builder_.intermediate(DType::kInt64, {4});
  const SlotId rows = builder_.intermediate(DType::kFloat32, {4, 2});
  const SlotId out = sink(DType::kFloat32, {4, 2});
  builder_.add_op(kAddScalar, {ref(x), number(6), number(1)}, {ref(made)});
  builder_.add_op(kIndexSelect, {ref(table), number(0), ref(made)}, {ref(rows)});
  keep(rows, out);
  const TrialResult& result = try_out();
  EXPECT_EQ(result.output_mismatches, 0U);
  EXPECT_EQ(slot(out)[3][1].item<float>(), 3.0F);
  const et_schema::Coverage coverage = decisions_->coverage();
  EXPECT_EQ(coverage.exact, 3U);
  ASSERT_EQ(coverage.pinned_outputs.size(), 1U);
  EXPECT_EQ(coverage.pinned_outputs[0].name, "aten::add.Scalar");
  EXPECT_EQ(coverage.pinned_outputs[0].note,
            "its numbers lie outside of what aten::index_select picks from");
  iterate();
}

TEST_F(TrialTest, WhatFailsForAnotherReasonPinsNoIndices) {
  const SlotId x = builder_.external(DType::kInt64, {4}, constant(1));
  const SlotId table = builder_.external(DType::kFloat32, {5, 2}, constant(3));
  const SlotId made = builder_.intermediate(DType::kInt64, {4});
  const SlotId rows = builder_.intermediate(DType::kFloat32, {4, 2});
  builder_.add_op(kAddScalar, {ref(x), number(1), number(1)}, {ref(made)});
  builder_.add_op(kIndexSelect, {ref(table), number(7), ref(made)}, {ref(rows)});
  try_out(true);
  const et_schema::Coverage coverage = decisions_->coverage();
  EXPECT_TRUE(coverage.pinned_outputs.empty());
  ASSERT_EQ(coverage.dropped.size(), 1U);
  EXPECT_EQ(coverage.dropped[0].note,
            "it failed: Dimension out of range (expected to be in range of [-2, 1], but got 7)");
}

TEST_F(TrialTest, IndicesOutsideThatNothingMakesEndTheRun) {
  const SlotId index = builder_.external(DType::kInt64, {4}, constant(7));
  const SlotId table = builder_.external(DType::kFloat32, {5, 2}, constant(3));
  const SlotId rows = builder_.intermediate(DType::kFloat32, {4, 2});
  builder_.add_op(kIndexSelect, {ref(table), number(0), ref(index)}, {ref(rows)});
  EXPECT_EQ(failure().substr(0, 26), "aten::index_select failed\n");
}

TEST_F(TrialTest, AnOperatorThatThrowsEndsTheRun) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.external(DType::kFloat32, {3}, constant(1));
  const SlotId z = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_op(kAdd, {ref(x), ref(y), number(1)}, {ref(z)});
  EXPECT_EQ(failure(),
            "aten::add.Tensor failed\n"
            "  node:     101\n"
            "  field:    aten::add.Tensor(float32[4] strides [1], float32[3] strides [1], 1)\n"
            "  expected: aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
            "  got:      The size of tensor a (4) must match the size of tensor b (3) at "
            "non-singleton dimension 0\n"
            "  hint:     --continue-on-error replays the rest and counts the operator as dropped; "
            "--op-library loads custom operators.");
}

TEST_F(TrialTest, ContinueOnErrorDropsItAndGivesItsConsumersTensors) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.external(DType::kFloat32, {3}, constant(1));
  const SlotId z = builder_.intermediate(DType::kFloat32, {4});
  const SlotId out = sink(DType::kFloat32, {4});
  builder_.add_op(kAdd, {ref(x), ref(y), number(1)}, {ref(z)});
  keep(z, out);
  try_out(true);
  const et_schema::Coverage coverage = decisions_->coverage();
  ASSERT_EQ(coverage.dropped.size(), 1U);
  EXPECT_EQ(coverage.dropped[0].name, "aten::add.Tensor");
  EXPECT_EQ(coverage.dropped[0].note,
            "it failed: The size of tensor a (4) must match the size of tensor b (3) at "
            "non-singleton dimension 0");
  EXPECT_EQ(coverage.selected, 2U);
  EXPECT_EQ(coverage.replayed, 1U);
  EXPECT_EQ(coverage.count, 0.5);
}

TEST_F(TrialTest, AnOperatorThatDoesNotResolveIsReplayedByItsBody) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(3));
  const SlotId y = builder_.intermediate(DType::kFloat32, {4});
  const SlotId out = sink(DType::kFloat32, {4});
  Instruction outer = builder_.op("nobody::knows(Tensor self) -> Tensor", {ref(x)}, {ref(y)});
  outer.body = {builder_.op(kRelu, {ref(x)}, {ref(y)})};
  builder_.add(std::move(outer));
  keep(y, out);
  try_out();
  EXPECT_EQ(slot(out)[0].item<float>(), 3.0F);
  EXPECT_EQ(decisions_->coverage().exact, 2U);
}

TEST_F(TrialTest, ALeafThatDoesNotResolveIsDroppedWithItsReason) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(3));
  const SlotId y = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_op("nobody::knows(Tensor self) -> Tensor", {ref(x)}, {ref(y)});
  try_out();
  const et_schema::Coverage coverage = decisions_->coverage();
  ASSERT_EQ(coverage.dropped.size(), 1U);
  EXPECT_EQ(coverage.dropped[0].note, "this LibTorch has no such operator");
}

TEST_F(TrialTest, MemoryThatIsNotThereEndsTheRunWithTheFacts) {
  constexpr std::int64_t kExbi = std::int64_t{1} << 58U;
  const SlotId huge = builder_.intermediate(DType::kUInt8, {kExbi});
  builder_.add_op(
      "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
      {numbers({kExbi}), number(0), none(), none(), none(), none()}, {ref(huge)});
  const std::string text = failure(true);
  EXPECT_EQ(text.substr(0, text.find('\n')), "out of memory in aten::empty.memory_format");
  EXPECT_NE(text.find("288230376151711744"), std::string::npos) << text;
}

}  // namespace
}  // namespace understudy::replayer::testing
