#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "match_samples.h"
#include "testing/error_text.h"
#include "testing/made_program.h"

namespace understudy::matching {
namespace {

using et_schema::Argument;
using et_schema::CommInfo;
using et_schema::CommKind;
using et_schema::DType;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;

class Builder {
 public:
  SlotId slot(std::vector<std::int64_t> sizes, DType dtype = DType::kFloat32) {
    et_schema::Slot slot;
    slot.storage = static_cast<et_schema::StorageId>(program_.storages.size());
    slot.dtype = dtype;
    slot.sizes = std::move(sizes);
    program_.storages.emplace_back();
    program_.slots.push_back(std::move(slot));
    return static_cast<SlotId>(program_.slots.size() - 1);
  }

  CommInfo& comm(CommKind kind, const std::vector<SlotId>& inputs,
                 const std::vector<SlotId>& outputs) {
    Instruction instruction;
    instruction.kind = kind == CommKind::kWait ? InstructionKind::kWait
                       : kind == CommKind::kSend || kind == CommKind::kRecv
                           ? InstructionKind::kP2p
                           : InstructionKind::kCollective;
    instruction.node_id = 10 + program_.instructions.size();
    instruction.args.push_back(testing_programs::list_of(inputs));
    instruction.args.push_back(testing_programs::list_of(outputs));
    instruction.comm.emplace();
    instruction.comm->kind = kind;
    program_.instructions.push_back(std::move(instruction));
    return *program_.instructions.back().comm;
  }

  void op(SlotId argument) {
    Instruction instruction;
    instruction.args.emplace_back().value = Argument::SlotRef{argument};
    program_.instructions.push_back(std::move(instruction));
  }

  /// Of rank 1 of four.
  [[nodiscard]] std::vector<CommRecord> comms() const {
    const JobComms comms(sample_groups(), {{}, program_, {}, {}});
    std::vector<CommRecord> calls;
    std::ranges::transform(comms.ranks()[1].calls, std::back_inserter(calls),
                           [](const CommRecord* call) { return *call; });
    return calls;
  }

 private:
  Program program_;
};

TEST(CommsOf, SizesInElementsAndTheDType) {
  Builder builder;
  const SlotId input = builder.slot({3, 5}, DType::kBFloat16);
  const SlotId output = builder.slot({12, 5}, DType::kBFloat16);
  builder.comm(CommKind::kAllGatherBase, {input}, {output});
  const std::vector<CommRecord> comms = builder.comms();
  ASSERT_EQ(comms.size(), 1U);
  EXPECT_EQ(comms[0].dtype, DType::kBFloat16);
  EXPECT_EQ(comms[0].inputs, std::vector<std::int64_t>{15});
  EXPECT_EQ(comms[0].outputs, std::vector<std::int64_t>{60});
}

TEST(CommsOf, SplitsAreRowsOrElementsOrEqual) {
  Builder builder;
  const SlotId rows = builder.slot({4, 5});
  const SlotId elements = builder.slot({8});
  CommInfo& uneven = builder.comm(CommKind::kAllToAllV, {rows}, {elements});
  uneven.in_splits = {1, 0, 0, 3};
  uneven.out_splits = {2, 2, 4, 0};
  builder.comm(CommKind::kAllToAllV, {rows}, {elements});
  const std::vector<CommRecord> comms = builder.comms();
  EXPECT_EQ(comms[0].in_splits, (std::vector<std::int64_t>{5, 0, 0, 15}));
  EXPECT_EQ(comms[0].out_splits, (std::vector<std::int64_t>{2, 2, 4, 0}));
  EXPECT_EQ(comms[1].in_splits, (std::vector<std::int64_t>{5, 5, 5, 5}));
  EXPECT_EQ(comms[1].out_splits, (std::vector<std::int64_t>{2, 2, 2, 2}));
}

TEST(CommsOf, SplitsThatDoNotAddUpAreRefused) {
  Builder builder;
  const SlotId rows = builder.slot({4, 5});
  CommInfo& info = builder.comm(CommKind::kAllToAllV, {rows}, {rows});
  info.in_splits = {1, 1, 1, 2};
  EXPECT_EQ(testing_errors::error_of([&] { return builder.comms(); }),
            mismatch_text("the all_to_allv does not fit its tensors", 1, 10, "in_splits",
                          "4 rows or 20 elements", "[1, 1, 1, 2], together 5", ""));
}

TEST(CommsOf, JoinsByWaitTouchAndBlocking) {
  Builder builder;
  const SlotId a = builder.slot({4});
  const SlotId b = builder.slot({4});
  builder.comm(CommKind::kAllReduce, {a}, {a}).seq = 1;
  builder.comm(CommKind::kAllReduce, {b}, {b}).seq = 2;
  builder.comm(CommKind::kBarrier, {}, {});  // joins itself
  builder.op(b);                             // joins the second
  const SlotId c = builder.slot({4});
  builder.comm(CommKind::kAllReduce, {c}, {c}).is_async = false;
  builder.comm(CommKind::kWait, {}, {}).seq = 1;
  builder.comm(CommKind::kAllReduce, {b}, {b});
  const std::vector<CommRecord> calls = builder.comms();
  ASSERT_EQ(calls.size(), 5U);
  EXPECT_TRUE(calls[0].joined_before.empty());
  EXPECT_TRUE(calls[1].joined_before.empty());
  EXPECT_TRUE(calls[2].joined_before.empty());
  EXPECT_EQ(calls[3].joined_before, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(calls[4].joined_before, (std::vector<std::uint32_t>{1, 4}));
}

}  // namespace
}  // namespace understudy::matching
