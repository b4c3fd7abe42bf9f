#include "generator/resize/batch.h"

#include <gtest/gtest.h>

#include "et_schema/base/error.h"
#include "generator/flow/model_names.h"
#include "made_program.h"
#include "testing/error_text.h"

namespace understudy::generator {
namespace {

using et_schema::OtherSize;
using testing::Made;
using testing::numbers;
using testing::ref;
using testing::Sizes;

const BatchSize kTwice{64, 128};

AskSizes telling(std::vector<OtherSize> told) {
  return [told](const Program&, const BatchSize&) { return told; };
}

std::string refusal(const Program& program, const BatchSize& batch, std::vector<OtherSize> told) {
  return testing_errors::error_of(et_schema::ErrorKind::kBadInput, [&] {
    return with_batch_size(program, batch, 3, telling(std::move(told)));
  });
}

TEST(Batch, TensorsNumbersAndMemoryBecomeWhatIsTold) {
  Made made;
  const SlotId x = made.data({64, 8});
  const SlotId y = made.op("aten::view", {ref(x), numbers({64, 2, 4})}, {64, 2, 4});
  const ScaledBatch scaled =
      with_batch_size(made.program, kTwice, 0,
                      telling({{.slot = x, .sizes = {128, 8}, .strides = {8, 1}},
                               {.slot = y, .sizes = {128, 2, 4}, .strides = {8, 4, 1}},
                               {.instruction = 0, .argument = 1, .item = 0, .number = 128},
                               {.instruction = 0, .kept = "data decides"}}));
  EXPECT_EQ(scaled.program.slots[y].sizes, (Sizes{128, 2, 4}));
  EXPECT_EQ(scaled.program.instructions[0].args[1], numbers({128, 2, 4}));
  EXPECT_EQ(scaled.program.storages[x].bytes, 4 * 128 * 8);
  ASSERT_EQ(scaled.changes.size(), 1U);
  EXPECT_EQ(scaled.changes[0].before, "float32[64,8] -> float32[64,2,4]");
  EXPECT_EQ(scaled.changes[0].after, "float32[128,8] -> float32[128,2,4]");
  ASSERT_EQ(scaled.notes.size(), 1U);
  EXPECT_EQ(scaled.notes[0].note, "results keep the recorded size: data decides");
}

TEST(BatchRefusals, NameAllOperatorsAtOnce) {
  Made made;
  const SlotId x = made.data({64, 8});
  made.op("aten::view", {ref(x)}, {64, 8});
  made.op("aten::mm", {ref(x), ref(x)}, {64, 8});
  EXPECT_EQ(
      refusal(made.program, kTwice,
              {{.instruction = 0, .refused = "no view"}, {.instruction = 1, .refused = "no"}}),
      "the batch size cannot be changed\n"
      "  rank:     3\n"
      "  node:     1\n"
      "  field:    aten::view\n"
      "  expected: operators that run with 128 in place of 64\n"
      "  got:      no view; aten::mm (node 2): no\n"
      "  hint:     capture the program with that batch size");
}

TEST(BatchRefusals, ASizeThatNothingHas) {
  const Made made;
  const auto known = std::vector<std::int64_t>{16, 32};
  EXPECT_EQ(
      refusal(made.program, kTwice, {{.known = known}}),
      "the batch size cannot be changed\n"
      "  rank:     3\n"
      "  field:    --batch\n"
      "  expected: a leading size of its data: 16, 32\n"
      "  got:      64\n"
      "  hint:     FROM is the first size of the data that the step reads: of one micro-batch, "
      "where it accumulates gradients of several");
  EXPECT_EQ(refusal(made.program, {.from = 64, .to = 128, .anywhere = true}, {{.known = known}}),
            "the size cannot be changed\n"
            "  rank:     3\n"
            "  field:    --size\n"
            "  expected: a size of its data: 16, 32\n"
            "  got:      64\n"
            "  hint:     FROM is a size of the data that the step reads");
}

TEST(BatchRefusals, ATensorThatNoNumberMeasures) {
  Made made;
  const SlotId x = made.data({64, std::int64_t{1} << 40});
  EXPECT_EQ(refusal(made.program, {64, 1'000'000'000},
                    {{.slot = x,
                      .sizes = {1'000'000'000, std::int64_t{1} << 40},
                      .strides = {std::int64_t{1} << 40, 1}}}),
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
