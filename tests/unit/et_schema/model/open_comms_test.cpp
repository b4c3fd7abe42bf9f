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
  EXPECT_EQ(open_.take_touched({.reads = {}, .writes = {0, 1, 2, 3}}), Numbers{});
  EXPECT_EQ(open_.take_all(), Numbers{7});
}

/// What of a program needs the all_gather that is under way, from shard 0 into whole 1.
class Gathering : public testing::Test {
 protected:
  Gathering() {
    Instruction gather =
        builder_.add_collective(CommKind::kAllGatherBase, {ref(shard_)}, {ref(whole_)});
    gather_ = std::make_unique<Instruction>(std::move(gather));
    open_.start(0, *gather_);
  }
  bool is_joined_by(const std::string& schema, std::vector<Argument> arguments, SlotId result) {
    const Instruction instruction = builder_.op(schema, std::move(arguments), {ref(result)});
    return open_.take_touched(touched_by(builder_.program(), instruction)) == Numbers{0};
  }

  ProgramBuilder builder_;
  SlotId shard_ = builder_.external(DType::kFloat32, {4}, constant(1));
  SlotId whole_ = builder_.external(DType::kFloat32, {8}, constant(1));
  SlotId view_ = builder_.view(whole_, {2, 4}, {4, 1}, 0);
  SlotId other_ = builder_.intermediate(DType::kFloat32, {8});
  OpenComms open_{builder_.program()};
  std::unique_ptr<Instruction> gather_;
};

TEST_F(Gathering, ReadingItsInputJoinsNothingAndAViewOfItsResultWhereOnlyStreamsWaitForIt) {
  EXPECT_FALSE(is_joined_by("aten::relu(Tensor self) -> Tensor", {ref(shard_)}, other_));
  gather_->comm->why = kOwnStream;
  EXPECT_FALSE(
      is_joined_by("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", {ref(whole_)}, view_));
  EXPECT_TRUE(is_joined_by("aten::relu(Tensor self) -> Tensor", {ref(view_)}, other_));
}

TEST_F(Gathering, AViewOfItsResultJoinsItWhereTheProgramWaits) {
  EXPECT_TRUE(
      is_joined_by("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", {ref(whole_)}, view_));
}

TEST_F(Gathering, WritingItsInputJoinsIt) {
  EXPECT_TRUE(is_joined_by("aten::relu_(Tensor(a!) self) -> Tensor(a!)", {ref(shard_)}, shard_));
}

TEST_F(Gathering, AnotherThatReadsItsInputRunsBesideIt) {
  const Instruction send = builder_.add_collective(CommKind::kSend, {ref(shard_)}, {ref(shard_)});
  EXPECT_EQ(open_.take_touched(touched_by(builder_.program(), send)), Numbers{});
  const Instruction receive = builder_.add_collective(CommKind::kRecv, {}, {ref(shard_)});
  EXPECT_EQ(open_.take_touched(touched_by(builder_.program(), receive)), Numbers{0});
}

}  // namespace
}  // namespace understudy::et_schema
