#include "et_schema/model/open_comms.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "program_builder.h"

namespace understudy::et_schema {
namespace {

using replayer::testing::constant;
using replayer::testing::ProgramBuilder;
using replayer::testing::ref;
using Numbers = std::vector<std::uint32_t>;

/// Communications of group and sequence number, each on a tensor of its own.
class Started : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 8; ++i) {
      slots_.push_back(builder_.external(DType::kFloat32, {4}, constant(1)));
    }
  }
  /// Its number is how many were started before it.
  void start(CommKind kind, GroupId group, std::int64_t seq) {
    const SlotId slot = slots_.at(next_);
    Instruction instruction = builder_.add_collective(kind, {ref(slot)}, {ref(slot)});
    instruction.comm->group = group;
    instruction.comm->seq = seq;
    instructions_.push_back(std::make_unique<Instruction>(std::move(instruction)));
    open_.start(static_cast<std::uint32_t>(next_++), *instructions_.back());
  }
  Numbers wait(const CommInfo& asked, std::optional<std::size_t> tensor = {}) {
    Instruction instruction;
    instruction.kind = InstructionKind::kWait;
    instruction.comm = asked;
    instruction.comm->kind = CommKind::kWait;
    if (tensor) {
      instruction.args = {ref(slots_.at(*tensor))};
    }
    return open_.take_waited(instruction);
  }
  static CommInfo asked(std::int64_t seq) {
    CommInfo asked;
    asked.seq = seq;
    return asked;
  }
  static CommInfo asked(std::int64_t seq, GroupId group, bool is_p2p) {
    CommInfo info = asked(seq);
    info.group = group;
    info.names_group = true;
    info.is_p2p = is_p2p;
    return info;
  }

  ProgramBuilder builder_;
  std::vector<SlotId> slots_;
  OpenComms open_{builder_.program()};
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<Instruction>> instructions_;
};

TEST_F(Started, AWaitThatNamesItsGroupJoinsNoOther) {
  start(CommKind::kAllReduce, 0, 5);
  start(CommKind::kAllReduce, 1, 5);
  EXPECT_EQ(wait(asked(5, 1, false)), Numbers{1});
  EXPECT_EQ(wait(asked(5, 1, false)), Numbers{});
  EXPECT_EQ(open_.take_all(), Numbers{0});
}

TEST_F(Started, SendsAndReceivesHaveNumbersOfTheirOwn) {
  start(CommKind::kSend, 0, 5);
  start(CommKind::kAllReduce, 0, 5);
  EXPECT_EQ(wait(asked(5, 0, false)), Numbers{1});
  EXPECT_EQ(wait(asked(5, 0, true)), Numbers{0});
}

TEST_F(Started, CallsThatWereIssuedAsOneAreJoinedByOneWait) {
  start(CommKind::kSend, 0, 5);
  start(CommKind::kRecv, 0, 5);
  EXPECT_EQ(wait(asked(5, 0, true)), (Numbers{0, 1}));
}

TEST_F(Started, AWaitThatNamesATensorJoinsWhatWorksOnIt) {
  start(CommKind::kAllReduce, 0, 5);
  start(CommKind::kAllReduce, 1, 5);
  EXPECT_EQ(wait(asked(5), 1), Numbers{1});
  EXPECT_EQ(wait({}, 0), Numbers{0});
}

TEST_F(Started, AWaitThatNamesNeitherJoinsTheFirstThatItCanMean) {
  start(CommKind::kAllReduce, 2, 4);
  start(CommKind::kAllReduce, 2, 5);
  start(CommKind::kSend, 1, 5);
  start(CommKind::kAllReduce, 1, 5);
  CommInfo first = asked(5);
  first.is_p2p = false;
  EXPECT_EQ(wait(first), Numbers{1});
  EXPECT_EQ(wait(first), Numbers{3});
  EXPECT_EQ(wait(asked(5)), Numbers{2});
  EXPECT_EQ(wait(asked(6)), Numbers{});
  EXPECT_EQ(open_.take_all(), Numbers{0});
}

TEST_F(Started, WhatIsDetachedIsJoinedAtTheEndAlone) {
  open_.start_detached(7);
  EXPECT_EQ(wait(asked(0)), Numbers{});
  EXPECT_EQ(open_.take_touched(slots_), Numbers{});
  EXPECT_EQ(open_.take_all(), Numbers{7});
}

}  // namespace
}  // namespace understudy::et_schema
