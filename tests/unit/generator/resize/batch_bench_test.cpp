#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "generator/flow/model_names.h"
#include "generator/resize/batch.h"
#include "made_program.h"
#include "testing/error_text.h"

namespace understudy::generator {
namespace {

using testing::Made;
using testing::ref;
using testing::Sizes;

const BatchSize kTwofold{64, 128};

/// Twice as large: all tensors of 64 rows that are contiguous.
std::vector<et_schema::OtherSize> doubled(const et_schema::Program& program, const BatchSize&) {
  std::vector<et_schema::OtherSize> told;
  for (SlotId id = 0; id < program.slots.size(); ++id) {
    const et_schema::Slot& slot = program.slots[id];
    if (!slot.sizes.empty() && slot.sizes[0] == kTwofold.from) {
      told.push_back({.slot = id, .sizes = slot.sizes, .strides = slot.strides});
      told.back().sizes[0] = kTwofold.to;
    }
  }
  return told;
}

class BatchBench : public ::testing::Test {
 protected:
  /// The program with the new size.
  et_schema::Program scaled() {
    et_schema::Bench bench;
    bench.programs = {made_.program};
    batched_ = bench_with_batch_size(std::move(bench), kTwofold, doubled);
    return batched_.bench.programs[0];
  }

  Made made_;
  SlotId x_ = made_.data({64, 8});
  BatchedBench batched_;
};

TEST_F(BatchBench, RulesThatCountElementsFollowTheBatch) {
  const SlotId offsets = made_.data({64});
  made_.program.slots[offsets].value = ValueRule{ValueRule::Offsets{.end = 640}};
  const SlotId mask = made_.data({64});
  made_.program.slots[mask].value = ValueRule{ValueRule::Mask{.count = 10}};
  const SlotId other = made_.data({8});
  made_.program.slots[other].value = ValueRule{ValueRule::Mask{.count = 3}};
  const et_schema::Program program = scaled();
  EXPECT_EQ(program.slots[offsets].value->as<ValueRule::Offsets>()->end, 1280);
  EXPECT_EQ(program.slots[mask].value->as<ValueRule::Mask>()->count, 10)
      << "what a mask selects keeps its size";
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

TEST_F(BatchBench, ACountThatDoesNotFitIsRefused) {
  const SlotId mask = made_.data({64});
  made_.program.slots[mask].value = ValueRule{ValueRule::Mask{.count = 3}};
  const SlotId offsets = made_.data({64});
  const auto refusal_with = [this](std::int64_t rows) {
    et_schema::Bench bench;
    bench.programs = {made_.program};
    return testing_errors::error_of([&] {
      const auto fewer = [&](const et_schema::Program& program, const BatchSize& batch) {
        std::vector<et_schema::OtherSize> told = doubled(program, batch);
        for (et_schema::OtherSize& one : told) {
          one.sizes[0] = rows;
        }
        return told;
      };
      return bench_with_batch_size(std::move(bench), {64, rows}, fewer);
    });
  };
  EXPECT_EQ(refusal_with(2),
            "the batch size cannot be changed\n  rank:     0\n  field:    --batch\n"
            "  expected: masks of 3 elements or more\n  got:      2");
  made_.program.slots[offsets].value = ValueRule{ValueRule::Offsets{.end = 3}};
  EXPECT_EQ(refusal_with(96),
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
