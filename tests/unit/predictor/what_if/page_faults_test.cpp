#include "predictor/what_if/page_faults.h"

#include <gtest/gtest.h>

#include "../simulate/hand_made.h"

namespace understudy::predictor {
namespace {

using et_schema::HeapBlock;
using et_schema::Timing;
using testing::HandMade;

/// Two operators, with results of 4,096 and 12,288 bytes, in a step of 100 page faults.
void make_two_operators(HandMade& made) {
  made.begin_program();
  made.op("aten::a", {}, {made.cpu(4096)}, {});
  made.op("aten::b", {}, {made.cpu(12288)}, {});
  made.program().profile.emplace().minor_faults = 100;
}

void expect_faults(HandMade& made, double first, double second) {
  const Job job = made.job();
  const RecordedPageFaults faults(job);
  const et_schema::Program& program = *job.programs[0];
  EXPECT_DOUBLE_EQ(faults.of(program, program.instructions[0]), first);
  EXPECT_DOUBLE_EQ(faults.of(program, program.instructions[1]), second);
  EXPECT_DOUBLE_EQ(faults.of_step(program), first + second);
}

TEST(RecordedPageFaults, AreSpreadByTheBytesOfResults) {
  HandMade made;
  make_two_operators(made);
  expect_faults(made, 25, 75);
}

TEST(RecordedPageFaults, OrOfLargeBlocksWhereTheProfileShowsThem) {
  HandMade made;
  make_two_operators(made);
  made.program().instructions[0].timing = Timing{};
  made.program().heap_blocks[0] = {HeapBlock{.bytes = 1 << 20}};
  made.program().instructions[1].timing = Timing{};
  expect_faults(made, 100, 0);
}

TEST(RecordedPageFaults, AreThoseCountedScaledToTheStep) {
  HandMade made;
  make_two_operators(made);
  made.program().instructions[0].timing = Timing{.page_faults = 1};
  made.program().heap_blocks[0] = {HeapBlock{.bytes = 1 << 20}};
  made.program().instructions[1].timing = Timing{.page_faults = 4};
  expect_faults(made, 20, 80);
}

TEST(RecordedPageFaults, AreNoneWhereNobodyCounted) {
  HandMade made;
  make_two_operators(made);
  made.program().profile.reset();
  expect_faults(made, 0, 0);
}

}  // namespace
}  // namespace understudy::predictor
