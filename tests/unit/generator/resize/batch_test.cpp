#include "generator/resize/batch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "et_schema/base/error.h"
#include "generator/flow/model_names.h"
#include "made_program.h"
#include "testing/error_text.h"

namespace understudy::generator {
namespace {

using testing::list_of;
using testing::Made;
using testing::number;
using testing::numbers;
using testing::ref;
using testing::Sizes;

constexpr BatchSize kTwice{64, 128};

Sizes sizes_of(const ScaledBatch& scaled, SlotId slot) {
  return scaled.program.slots[slot].sizes;
}

std::string refusal(const Program& program, const BatchSize& batch = kTwice) {
  return testing_errors::error_of(et_schema::ErrorKind::kBadInput,
                                  [&] { return with_batch_size(program, batch, 3); });
}

TEST(Batch, GoesThroughALayerAndBackAndEndsAtTheWeights) {
  Made made;
  const SlotId x = made.data({64, 8});
  const SlotId w = made.data({4, 8});
  const SlotId b = made.data({4});
  const SlotId wt = made.op("aten::t", {ref(w)}, {8, 4});
  const SlotId y = made.op("aten::addmm", {ref(b), ref(x), ref(wt)}, {64, 4});
  const SlotId z = made.op("aten::relu", {ref(y)}, {64, 4});
  const SlotId mean = made.op("aten::mean", {ref(z)}, {});
  const SlotId g = made.op("aten::expand", {ref(mean), numbers({64, 4})}, {64, 4});
  const SlotId dz = made.op("aten::threshold_backward", {ref(g), ref(y), number(0)}, {64, 4});
  const SlotId dzt = made.op("aten::t", {ref(dz)}, {4, 64});
  const SlotId dw = made.op("aten::mm", {ref(dzt), ref(x)}, {4, 8});
  const SlotId db = made.op("aten::sum.dim_IntList", {ref(dz), numbers({0})}, {4});
  const ScaledBatch scaled = with_batch_size(made.program, kTwice, 0);
  EXPECT_EQ(sizes_of(scaled, y), (Sizes{128, 4}));
  EXPECT_EQ(sizes_of(scaled, wt), (Sizes{8, 4}));
  EXPECT_EQ(sizes_of(scaled, mean), Sizes{});
  EXPECT_EQ(sizes_of(scaled, dz), (Sizes{128, 4}));
  EXPECT_EQ(sizes_of(scaled, dzt), (Sizes{4, 128}));
  EXPECT_EQ(sizes_of(scaled, dw), (Sizes{4, 8}));
  EXPECT_EQ(sizes_of(scaled, db), Sizes{4});
  EXPECT_EQ(scaled.program.storages[x].bytes, 4 * 128 * 8);
  const auto addmm = std::ranges::find(scaled.changes, "aten::addmm", &BatchChange::name);
  ASSERT_NE(addmm, scaled.changes.end());
  EXPECT_EQ(addmm->count, 1);
  EXPECT_EQ(addmm->before, "float32[4] float32[64,8] float32[8,4] -> float32[64,4]");
  EXPECT_EQ(addmm->after, "float32[4] float32[128,8] float32[8,4] -> float32[128,4]");
}

/// As a GPU's step has it: cuDNN's own operators.
TEST(Batch, GoesThroughCudnnsBatchNorm) {
  Made made;
  const SlotId x = made.data({64, 8, 4, 4});
  const SlotId weight = made.data({8});
  const SlotId y = made.slot({64, 8, 4, 4});
  const SlotId mean = made.slot({8});
  made.add("aten::cudnn_batch_norm", {ref(x), ref(weight)}, {ref(y), ref(mean)});
  const SlotId back = made.slot({64, 8, 4, 4});
  const SlotId of_weight = made.slot({8});
  made.add("aten::cudnn_batch_norm_backward", {ref(x), ref(y), ref(weight), ref(mean)},
           {ref(back), ref(of_weight)});
  const ScaledBatch scaled = with_batch_size(made.program, kTwice, 0);
  EXPECT_EQ(sizes_of(scaled, y), (Sizes{128, 8, 4, 4}));
  EXPECT_EQ(sizes_of(scaled, mean), (Sizes{8}));
  EXPECT_EQ(sizes_of(scaled, back), (Sizes{128, 8, 4, 4}));
  EXPECT_EQ(sizes_of(scaled, of_weight), (Sizes{8}));
}

TEST(Batch, IsJoinedWithTheSequenceAndTakenApartAgain) {
  Made made;
  const SlotId x = made.data({64, 5, 6});
  const SlotId flat = made.op("aten::view", {ref(x), numbers({320, 6})}, {320, 6});
  const SlotId heads = made.op("aten::view", {ref(flat), numbers({64, 5, 2, 3})}, {64, 5, 2, 3});
  const SlotId swapped =
      made.op("aten::transpose.int", {ref(heads), number(1), number(2)}, {64, 2, 5, 3});
  const SlotId back =
      made.op("aten::permute", {ref(swapped), numbers({2, 0, 1, 3})}, {5, 64, 2, 3});
  const ScaledBatch scaled = with_batch_size(made.program, kTwice, 0);
  EXPECT_EQ(sizes_of(scaled, flat), (Sizes{640, 6}));
  EXPECT_EQ(sizes_of(scaled, heads), (Sizes{128, 5, 2, 3}));
  EXPECT_EQ(sizes_of(scaled, swapped), (Sizes{128, 2, 5, 3}));
  EXPECT_EQ(sizes_of(scaled, back), (Sizes{5, 128, 2, 3}));
}

TEST(Batch, StridesOutsideOfItGrowWithIt) {
  Made made;
  const SlotId x = made.data({64, 8});
  const SlotId t = made.slot({8, 64}, false, {1, 8});
  made.add("aten::t", {ref(x)}, {ref(t)});
  const SlotId outer = made.slot({3, 64}, false, {64, 1});
  made.add("aten::expand",
           {ref(made.op("aten::sum.dim_IntList", {ref(x), numbers({1})}, {64})), numbers({3, 64})},
           {ref(outer)});
  const ScaledBatch scaled = with_batch_size(made.program, kTwice, 0);
  EXPECT_EQ(scaled.program.slots[t].strides, (Sizes{1, 8}));
  EXPECT_EQ(scaled.program.slots[outer].strides, (Sizes{128, 1}));
}

TEST(Batch, ResultsThatAreNotMadeKeepTheirPlace) {
  Made made;
  const SlotId x = made.data({64, 3, 8, 8});
  const SlotId w = made.data({4, 3, 3, 3});
  const SlotId y = made.op("aten::convolution", {ref(x), ref(w)}, {64, 4, 8, 8});
  const SlotId dw = made.slot({4, 3, 3, 3});
  made.add("aten::convolution_backward", {ref(y), ref(x), ref(w)},
           {{Argument::Undefined{}}, ref(dw), {Argument::Undefined{}}});
  const ScaledBatch scaled = with_batch_size(made.program, {64, 32}, 0);
  EXPECT_EQ(sizes_of(scaled, y), (Sizes{32, 4, 8, 8}));
  EXPECT_EQ(sizes_of(scaled, dw), (Sizes{4, 3, 3, 3}));
  EXPECT_EQ(scaled.program.storages[x].bytes, 4 * 32 * 3 * 64);
}

TEST(Batch, PartsBesideEachOther) {
  Made made;
  const SlotId x = made.data({64, 8});
  const SlotId part =
      made.op("aten::slice.Tensor", {ref(x), number(1), number(0), number(4)}, {64, 4});
  const SlotId both = made.op("aten::cat", {list_of({x, part}), number(-1)}, {64, 12});
  const SlotId stacked = made.op("aten::stack", {list_of({part, part}), number(0)}, {2, 64, 4});
  const ScaledBatch scaled = with_batch_size(made.program, kTwice, 0);
  EXPECT_EQ(sizes_of(scaled, both), (Sizes{128, 12}));
  EXPECT_EQ(sizes_of(scaled, stacked), (Sizes{2, 128, 4}));
}

TEST(Batch, OneBehindTheOtherAndTakenApart) {
  Made made;
  const SlotId x = made.data({64, 8});
  const SlotId both = made.op("aten::cat", {list_of({x, x}), number(0)}, {128, 8});
  const SlotId first = made.slot({64, 8});
  const SlotId second = made.slot({64, 8});
  made.add("aten::split.Tensor", {ref(both), number(64), number(0)}, {ref(first), ref(second)});
  const ScaledBatch scaled = with_batch_size(made.program, kTwice, 0);
  EXPECT_EQ(sizes_of(scaled, both), (Sizes{256, 8}));
  EXPECT_EQ(sizes_of(scaled, second), (Sizes{128, 8}));
}

TEST(Batch, SequencesInFrontOfIt) {
  Made made;
  const SlotId x = made.data({64, 17, 6});
  const SlotId swapped =
      made.op("aten::transpose.int", {ref(x), number(0), number(1)}, {17, 64, 6});
  const SlotId flat = made.op("aten::reshape", {ref(swapped), numbers({1088, 6})}, {1088, 6});
  const SlotId back = made.op("aten::view", {ref(flat), numbers({17, 64, 6})}, {17, 64, 6});
  const ScaledBatch scaled = with_batch_size(made.program, kTwice, 0);
  EXPECT_EQ(sizes_of(scaled, flat), (Sizes{2176, 6}));
  EXPECT_EQ(sizes_of(scaled, back), (Sizes{17, 128, 6}));
}

TEST(Batch, RotaryEmbeddingsArePairsOfNumbers) {
  Made made;
  const SlotId x = made.data({64, 5, 2, 2});
  const SlotId turned = made.op("aten::view_as_complex", {ref(x)}, {64, 5, 2});
  const SlotId pairs = made.op("aten::view_as_real", {ref(turned)}, {64, 5, 2, 2});
  const SlotId flat = made.op("aten::view_as", {ref(pairs), ref(made.data({64, 20}))}, {64, 20});
  const ScaledBatch scaled = with_batch_size(made.program, kTwice, 0);
  EXPECT_EQ(sizes_of(scaled, turned), (Sizes{128, 5, 2}));
  EXPECT_EQ(sizes_of(scaled, flat), (Sizes{128, 20}));
}

TEST(Batch, LooksRowsUpInATable) {
  Made made;
  const SlotId steps = made.data({64});
  const SlotId table = made.data({1000});
  const SlotId kept =
      made.op("aten::index.Tensor", {ref(table), {Argument::List{ref(steps)}}}, {64});
  const SlotId grad = made.op("aten::slice_backward",
                              {ref(kept), numbers({64}), number(0), number(0), number(64)}, {64});
  const ScaledBatch scaled = with_batch_size(made.program, kTwice, 0);
  EXPECT_EQ(sizes_of(scaled, kept), (Sizes{128}));
  EXPECT_EQ(sizes_of(scaled, grad), (Sizes{128}));
  EXPECT_EQ(sizes_of(scaled, table), (Sizes{1000}));
}

TEST(Batch, MoreBagsHaveMoreIndices) {
  Made made;
  const SlotId table = made.data({1000, 8});
  const SlotId indices = made.data({192});
  const SlotId offsets = made.data({64});
  const SlotId bags =
      made.op("aten::embedding_bag.padding_idx", {ref(table), ref(indices), ref(offsets)}, {64, 8});
  const ScaledBatch scaled = with_batch_size(made.program, kTwice, 0);
  EXPECT_EQ(sizes_of(scaled, indices), (Sizes{384}));
  EXPECT_EQ(sizes_of(scaled, bags), (Sizes{128, 8}));
}

TEST(Batch, GoesThroughWhatWasRecordedBelowAnotherLibrarysOperator) {
  Made made;
  const SlotId x = made.data({64, 8});
  const SlotId half = made.slot({64, 8});
  const SlotId y = made.op("mine::op", {ref(x), number(3)}, {64, 8});
  Instruction below;
  below.name = "aten::gelu";
  below.args = {ref(x)};
  below.results = {ref(half)};
  made.program.instructions[0].body.push_back(below);
  below.name = "aten::mul.Tensor";
  below.args = {ref(half), ref(half)};
  below.results = {ref(y)};
  made.program.instructions[0].body.push_back(below);
  EXPECT_EQ(sizes_of(with_batch_size(made.program, kTwice, 0), y), (Sizes{128, 8}));
  made.program.instructions[0].body.pop_back();
  EXPECT_NE(refusal(made.program).find("  expected: an operator whose rule is known\n"),
            std::string::npos);
}

constexpr BatchSize kLonger{.from = 64, .to = 128, .anywhere = true};

TEST(Sizes, OfSequencesGrowOnBothSidesOfAttention) {
  Made made;
  const SlotId q = made.data({3, 4, 64, 8});
  const SlotId mask = made.data({64, 64});
  const SlotId kt = made.op("aten::transpose.int", {ref(q), number(2), number(3)}, {3, 4, 8, 64});
  const SlotId scores = made.op("aten::matmul", {ref(q), ref(kt)}, {3, 4, 64, 64});
  const SlotId masked = made.op("aten::add.Tensor", {ref(scores), ref(mask)}, {3, 4, 64, 64});
  const SlotId out = made.op("aten::matmul", {ref(masked), ref(q)}, {3, 4, 64, 8});
  const SlotId back =
      made.op("aten::transpose.int", {ref(out), number(1), number(2)}, {3, 64, 4, 8});
  const SlotId rows = made.op("aten::reshape", {ref(back), numbers({192, 32})}, {192, 32});
  const ScaledBatch scaled = with_batch_size(made.program, kLonger, 0);
  EXPECT_EQ(sizes_of(scaled, masked), (Sizes{3, 4, 128, 128}));
  EXPECT_EQ(scaled.program.slots[masked].strides, (Sizes{65536, 16384, 128, 1}));
  EXPECT_EQ(sizes_of(scaled, rows), (Sizes{384, 32}));
}

TEST(Sizes, ThatNothingHasAreRefused) {
  Made made;
  made.data({3, 32});
  EXPECT_EQ(refusal(made.program, kLonger),
            "the size cannot be changed\n"
            "  rank:     3\n"
            "  field:    --size\n"
            "  expected: a size of its data: 3, 32\n"
            "  got:      64\n"
            "  hint:     FROM is a size of the data that the step reads");
}

TEST(Batch, ViewsOfDataAreNoWrites) {
  Made made;
  const SlotId x = made.data({64, 8});
  const SlotId part = made.slot({64, 7}, false, {8, 1});
  made.program.slots[part].storage = made.program.slots[x].storage;
  made.add("aten::slice.Tensor", {ref(x), number(1), number(0), number(7)}, {ref(part)});
  made.program.schemas = {
      "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
      "step=1) -> Tensor(a)"};
  made.program.instructions[0].schema = 0;
  EXPECT_EQ(sizes_of(with_batch_size(made.program, kTwice, 0), part), (Sizes{128, 7}));
}

TEST(Batch, IsKeptWhereOtherDimensionsAreIndexed) {
  Made made;
  const SlotId x = made.data({64, 8, 8});
  const SlotId rows = made.data({28});
  const SlotId pairs =
      made.op("aten::index.Tensor",
              {ref(x), {Argument::List{{Argument::None{}}, ref(rows), ref(rows)}}}, {64, 28});
  EXPECT_EQ(sizes_of(with_batch_size(made.program, kTwice, 0), pairs), (Sizes{128, 28}));
}

TEST(Batch, WhatTheStepWritesIsNoData) {
  Made made;
  const SlotId x = made.data({64, 8});
  const SlotId w = made.data({64, 8});
  made.add("aten::mul_.Tensor", {ref(w), number(2)}, {ref(w)});
  made.program.schemas = {"aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"};
  made.program.instructions[0].schema = 0;
  const ScaledBatch scaled = with_batch_size(made.program, kTwice, 0);
  EXPECT_EQ(sizes_of(scaled, x), (Sizes{128, 8}));
  EXPECT_EQ(sizes_of(scaled, w), (Sizes{64, 8}));
}

TEST(BatchRefusals, NameAnOperatorWithoutARule) {
  Made made;
  made.op("aten::fft_rfft", {ref(made.data({64, 8}))}, {64, 5});
  EXPECT_EQ(refusal(made.program),
            "the batch size cannot be changed\n"
            "  rank:     3\n"
            "  node:     1\n"
            "  field:    aten::fft_rfft\n"
            "  expected: an operator whose rule is known\n"
            "  got:      aten::fft_rfft\n"
            "  hint:     capture the program with that batch size");
}

TEST(BatchRefusals, AProductOfTwoBatches) {
  Made made;
  const SlotId x = made.data({64, 8});
  const SlotId xt = made.op("aten::t", {ref(x)}, {8, 64});
  made.op("aten::mm", {ref(x), ref(xt)}, {64, 64});
  EXPECT_NE(refusal(made.program)
                .find("  expected: one side of the product that grows\n"
                      "  got:      both, of [64,8] and [8,64]\n"),
            std::string::npos);
}

TEST(BatchRefusals, WhatIsTakenApartIntoPartsWithoutTheBatch) {
  Made made;
  const SlotId x = made.data({64, 8});
  made.op("aten::reshape", {ref(x), numbers({16, 32})}, {16, 32});
  EXPECT_NE(
      refusal(made.program).find("  expected: a part with the recorded 64\n  got:      [16,32]\n"),
      std::string::npos);
}

TEST(BatchRefusals, AConstantAsLongAsTheBatch) {
  Made made;
  const SlotId x = made.data({64, 8});
  const SlotId constant = made.data({1, 64, 8});
  made.op("aten::add.Tensor", {ref(x), ref(constant)}, {1, 64, 8});
  EXPECT_NE(refusal(made.program)
                .find("  expected: arguments that all grow with the batch, or "
                      "have one element there\n"),
            std::string::npos);
}

TEST(BatchRefusals, APartOfTheBatch) {
  Made made;
  const SlotId x = made.data({64, 8});
  made.op("aten::select.int", {ref(x), number(0), number(5)}, {8});
  EXPECT_NE(refusal(made.program).find("  expected: a part of something else than the batch\n"),
            std::string::npos);
  Made other;
  const SlotId y = other.data({64, 8});
  other.op("aten::cat", {list_of({y, other.data({3, 8})}), number(0)}, {67, 8});
  EXPECT_NE(refusal(other.program).find("  expected: parts that grow alike\n"), std::string::npos);
}

TEST(BatchRefusals, ASizeThatNothingHas) {
  Made made;
  made.data({32, 8});
  made.data({16});
  EXPECT_EQ(refusal(made.program),
            "the batch size cannot be changed\n"
            "  rank:     3\n"
            "  field:    --batch\n"
            "  expected: a leading size of its data: 16, 32\n"
            "  got:      64\n"
            "  hint:     FROM is the first size of the data that the step reads");
}

TEST(BatchRefusals, ATensorThatNoNumberMeasures) {
  Made made;
  made.data({64, std::int64_t{1} << 40});
  EXPECT_EQ(refusal(made.program, {64, 1'000'000'000}),
            "the benchmark would be too large\n"
            "  rank:     3\n"
            "  field:    --batch\n"
            "  expected: tensors of at most 2^63 bytes\n"
            "  got:      [1000000000,1099511627776]");
}

TEST(BatchRefusals, TextsThatAreNoSizes) {
  for (const char* text : {"64", "64:", ":64", "1:2", "64:0", "64:x", "64:128:1", "-4:8", ""}) {
    EXPECT_THROW(static_cast<void>(parse_batch_size(text)), et_schema::Error) << text;
  }
  EXPECT_EQ(parse_batch_size("64:256").to, 256);
}

}  // namespace
}  // namespace understudy::generator
