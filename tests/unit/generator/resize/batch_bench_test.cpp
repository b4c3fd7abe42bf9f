#include <gtest/gtest.h>

#include <utility>

#include "generator/flow/model_names.h"
#include "generator/resize/batch.h"
#include "made_program.h"
#include "testing/error_text.h"

namespace understudy::generator {
namespace {

using testing::Made;
using testing::number;
using testing::numbers;
using testing::ref;
using testing::Sizes;

constexpr BatchSize kTwofold{64, 128};

class BatchBench : public ::testing::Test {
 protected:
  /// The program with the new size.
  et_schema::Program scaled() {
    et_schema::Bench bench;
    bench.programs = {made_.program};
    batched_ = bench_with_batch_size(std::move(bench), kTwofold);
    return batched_.bench.programs[0];
  }
  static const Argument& argument(const et_schema::Program& program, std::size_t at,
                                  std::size_t number_of_argument) {
    return program.instructions.at(at).args.at(number_of_argument);
  }

  Made made_;
  SlotId x_ = made_.data({64, 8});
  BatchedBench batched_;
};

TEST_F(BatchBench, ListsOfSizesAndStridesFollowTheirTensors) {
  made_.op("aten::view", {ref(x_), numbers({64, 2, 4})}, {64, 2, 4});
  made_.say_schema("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)");
  made_.op("aten::view", {ref(x_), numbers({-1, 4, 2})}, {64, 4, 2});
  made_.say_schema("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)");
  made_.op("aten::_reshape_alias", {ref(x_), numbers({64, 2, 4}), numbers({8, 4, 1})}, {64, 2, 4});
  made_.say_schema(
      "aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)");
  made_.op("aten::unflatten.int", {ref(x_), number(1), numbers({4, -1})}, {64, 4, 2});
  made_.say_schema("aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)");
  made_.op("aten::unflatten.int", {ref(x_), number(0), numbers({64, 1})}, {64, 1, 8});
  made_.say_schema("aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)");
  made_.op("aten::sum.dim_IntList", {ref(x_), numbers({1})}, {64});
  made_.say_schema("aten::sum.dim_IntList(Tensor self, int[1]? dim) -> Tensor");
  const et_schema::Program program = scaled();
  EXPECT_EQ(argument(program, 0, 1), numbers({128, 2, 4}));
  EXPECT_EQ(argument(program, 1, 1), numbers({-1, 4, 2}));
  EXPECT_EQ(argument(program, 2, 1), numbers({128, 2, 4}));
  EXPECT_EQ(argument(program, 2, 2), numbers({8, 4, 1}));
  EXPECT_EQ(argument(program, 3, 2), numbers({4, -1}));
  EXPECT_EQ(argument(program, 4, 2), numbers({128, 1}));
  EXPECT_EQ(argument(program, 5, 1), numbers({1})) << "a dimension is no size";
}

TEST_F(BatchBench, NumbersThatNameASizeFollowIt) {
  const SlotId y = made_.slot({64, 8});
  made_.add("aten::native_group_norm", {ref(x_), number(64), number(64), number(8), number(1)},
            {ref(y)});
  made_.say_schema(
      "aten::native_group_norm(Tensor input, SymInt N, SymInt C, SymInt HxW, int group) -> Tensor");
  made_.op("aten::arange", {number(64)}, {64});
  made_.say_schema("aten::arange(Scalar end) -> Tensor");
  made_.op("aten::arange.start_step", {number(0), number(2560), number(40)}, {64});
  made_.say_schema("aten::arange.start_step(Scalar start, Scalar end, Scalar step) -> Tensor");
  made_.op("aten::slice.Tensor", {ref(x_), number(0), number(0), number(100), number(1)}, {64, 8});
  made_.say_schema(
      "aten::slice.Tensor(Tensor(a) self, int dim, SymInt? start, SymInt? end, SymInt step) -> "
      "Tensor(a)");
  const et_schema::Program program = scaled();
  EXPECT_EQ(argument(program, 0, 1), number(128));
  EXPECT_EQ(argument(program, 0, 2), number(64)) << "64 channels are no batch";
  EXPECT_EQ(argument(program, 1, 0), number(128));
  EXPECT_EQ(argument(program, 2, 1), number(5120));
  EXPECT_EQ(argument(program, 3, 3), number(128)) << "up to the end";
}

TEST_F(BatchBench, RulesThatCountElementsFollowTheBatch) {
  const SlotId offsets = made_.data({64});
  made_.program.slots[offsets].value = ValueRule{ValueRule::Offsets{.end = 640}};
  const SlotId mask = made_.data({64});
  made_.program.slots[mask].value = ValueRule{ValueRule::Mask{.count = 10}};
  const SlotId other = made_.data({8});
  made_.program.slots[other].value = ValueRule{ValueRule::Mask{.count = 3}};
  const et_schema::Program program = scaled();
  EXPECT_EQ(program.slots[offsets].value->as<ValueRule::Offsets>()->end, 1280);
  EXPECT_EQ(program.slots[mask].value->as<ValueRule::Mask>()->count, 20);
  EXPECT_EQ(program.slots[other].value->as<ValueRule::Mask>()->count, 3);
}

TEST_F(BatchBench, PartsOfTheDataThatHaveValuesArePartsOfTheLargerData) {
  const auto add_part = [this](std::int64_t offset, std::int64_t elements, bool has_value) {
    const SlotId id = made_.data({elements});
    et_schema::Slot& part = made_.program.slots[id];
    part.storage = made_.program.slots[x_].storage;
    part.offset = offset;
    if (has_value) {
      part.value = ValueRule{ValueRule::Integers{.low = 0, .high = 7}};
    }
    return id;
  };
  const SlotId but_last = add_part(0, 511, true);
  const SlotId second_half = add_part(256, 256, true);
  const SlotId of_a_body = add_part(0, 512, false);
  const et_schema::Program program = scaled();
  EXPECT_EQ(program.storages[program.slots[x_].storage].bytes, 4 * 128 * 8);
  EXPECT_EQ(program.slots[but_last].sizes, Sizes{1023});
  EXPECT_EQ(program.slots[second_half].offset, 512);
  EXPECT_EQ(program.slots[second_half].sizes, Sizes{512});
  EXPECT_EQ(program.slots[of_a_body].sizes, Sizes{0});
}

TEST_F(BatchBench, ASparseGradientHasAnElementForEachLookUp) {
  const SlotId table = made_.data({100, 4});
  const SlotId indices = made_.data({64});
  made_.program.slots[indices].dtype = et_schema::DType::kInt64;
  const SlotId gradient = made_.slot({100, 4}, false, {0, 0});
  made_.program.slots[gradient].sparse = true;
  made_.add("aten::embedding_backward", {ref(table), ref(indices)}, {ref(gradient)});
  const SlotId where = made_.op("aten::_indices", {ref(gradient)}, {1, 64});
  const SlotId values = made_.op("aten::_values", {ref(gradient)}, {64, 4});
  const et_schema::Program program = scaled();
  EXPECT_EQ(program.slots[gradient].sizes, (Sizes{100, 4}));
  EXPECT_EQ(program.slots[where].sizes, (Sizes{1, 128}));
  EXPECT_EQ(program.slots[values].sizes, (Sizes{128, 4}));
}

TEST_F(BatchBench, ACountThatIsNotProportionalIsRefused) {
  const SlotId mask = made_.data({64});
  made_.program.slots[mask].value = ValueRule{ValueRule::Mask{.count = 3}};
  et_schema::Bench bench;
  bench.programs = {made_.program};
  EXPECT_EQ(testing_errors::error_of([&] {
              return bench_with_batch_size(std::move(bench), {64, 96});
            }),
            "the batch size cannot be changed\n  rank:     0\n  field:    --batch\n"
            "  expected: sizes that are multiples of 64\n"
            "  got:      3 of elements that a rule of values counts");
}

TEST_F(BatchBench, WhatWasRecordedOfTheOldSizeIsLeftOut) {
  made_.op("aten::relu", {ref(x_)}, {64, 8});
  made_.say_schema("aten::relu(Tensor self) -> Tensor");
  et_schema::Instruction& relu = made_.program.instructions.back();
  relu.timing = et_schema::Timing{.host_ns = 5};
  relu.body = {relu};
  relu.body.front().body.clear();
  made_.program.profile.emplace();
  const et_schema::Program program = scaled();
  EXPECT_FALSE(program.profile.has_value());
  EXPECT_FALSE(program.instructions[0].timing.has_value());
  EXPECT_TRUE(program.instructions[0].body.empty());
  EXPECT_EQ(batched_.dropped_bodies, 1U);
  EXPECT_EQ(program.selection.filters, (std::vector<std::string>{"--batch 64:128"}));
  ASSERT_EQ(batched_.changes.size(), 1U);
  EXPECT_EQ(batched_.changes[0].at(0).after, "float32[128,8] -> float32[128,8]");
}

}  // namespace
}  // namespace understudy::generator
