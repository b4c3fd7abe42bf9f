#include <gtest/gtest.h>

#include "match_samples.h"

namespace understudy::matching {
namespace {

using et_schema::CommKind;
using et_schema::DType;

std::string refused(int rank, std::uint64_t node, const std::string& field,
                    const std::string& expected, const std::string& got) {
  return mismatch_text(
      "the programs of the ranks do not match", rank, node, field, expected, got,
      "the traces of all ranks must be of the same step, and say which group a call is of "
      "(plain Gloo's do not: scripts/capture --comms nccl-form)");
}

CommRecord all_to_allv(std::vector<std::int64_t> in_splits, std::vector<std::int64_t> out_splits) {
  CommRecord call = record(CommKind::kAllToAllV, 1, {}, {});
  call.in_splits = std::move(in_splits);
  call.out_splits = std::move(out_splits);
  return call;
}

/// Two calls on ranks 0 and 1 of group 1, nothing on the others.
JobComms pair_of(CommRecord first, CommRecord second) {
  return ranks_of({{std::move(first)}, {std::move(second)}, {}, {}});
}

TEST(Match, EveryCollectiveThatFits) {
  const CommRecord all_reduce = record(CommKind::kAllReduce, 0, {5, 6}, {5, 6});
  const CommRecord broadcast = record(CommKind::kBroadcast, 0, {3}, {3}, 2);
  const CommRecord base = record(CommKind::kAllGatherBase, 0, {2}, {8});
  const CommRecord barrier = record(CommKind::kBarrier, 0, {}, {});
  std::vector<std::vector<CommRecord>> calls(4, {all_reduce, broadcast, base, barrier});
  // Uneven lists: rank r has r + 1 elements.
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const auto own = static_cast<std::int64_t>(r) + 1;
    calls[r].push_back(record(CommKind::kAllGather, 0, {own}, {1, 2, 3, 4}));
    calls[r].push_back(record(CommKind::kReduceScatter, 0, {1, 2, 3, 4}, {own}));
    calls[r].push_back(
        record(CommKind::kGather, 0, {own},
               r == 3 ? std::vector<std::int64_t>{1, 2, 3, 4} : std::vector<std::int64_t>{}, 3));
    calls[r].push_back(record(
        CommKind::kScatter, 0,
        r == 1 ? std::vector<std::int64_t>{1, 2, 3, 4} : std::vector<std::int64_t>{}, {own}, 1));
  }
  calls[0].push_back(all_to_allv({1, 2}, {1, 7}));
  calls[1].push_back(all_to_allv({7, 0}, {2, 0}));
  EXPECT_EQ(mismatch(ranks_of(calls)), "");
}

TEST(Match, GroupsMayBeUsedInDifferentOrders) {
  const CommRecord world = record(CommKind::kAllReduce, 0, {4}, {4});
  const CommRecord low = record(CommKind::kAllReduce, 1, {5}, {5});
  EXPECT_EQ(mismatch(ranks_of({{world, low}, {low, world}, {world}, {world}})), "");
}

TEST(Match, OneRankHasAnotherCollective) {
  EXPECT_EQ(mismatch(pair_of(record(CommKind::kAllReduce, 1, {4}, {4}),
                             record(CommKind::kBroadcast, 1, {4}, {4}))),
            refused(1, 100, "collective of call 1 in group 'low'",
                    "allreduce, as on rank 0 (node 0, allreduce)", "broadcast"));
}

TEST(Match, OneRankHasFewerCalls) {
  const CommRecord call = record(CommKind::kAllReduce, 0, {4}, {4});
  EXPECT_EQ(
      mismatch(ranks_of({{call, call}, {call, call}, {call}, {call, call}})),
      refused(0, 1, "call 2 in group 'world'", "allreduce on rank 2 too", "only 1 calls there"));
}

TEST(Match, Sizes) {
  EXPECT_EQ(mismatch(pair_of(record(CommKind::kAllReduce, 1, {4}, {4}),
                             record(CommKind::kAllReduce, 1, {5}, {5}))),
            refused(1, 100, "inputs of call 1 in group 'low'",
                    "4 elements, as on rank 0 (node 0, allreduce)", "5 elements"));
  EXPECT_EQ(mismatch(pair_of(record(CommKind::kAllReduce, 1, {4, 1}, {4, 1}),
                             record(CommKind::kAllReduce, 1, {4}, {4}))),
            refused(1, 100, "inputs of call 1 in group 'low'",
                    "[4, 1] elements, as on rank 0 (node 0, allreduce)", "4 elements"));
}

TEST(Match, PartsOfAGather) {
  EXPECT_EQ(mismatch(pair_of(record(CommKind::kGather, 1, {4}, {4, 5}),
                             record(CommKind::kGather, 1, {6}, {}))),
            refused(1, 100, "inputs of call 1 in group 'low'",
                    "5 elements, as on rank 0 (node 0, gather)", "6 elements"));
}

TEST(Match, DTypeRootAndReduction) {
  const CommRecord call = record(CommKind::kReduce, 1, {4}, {4}, 1);
  CommRecord other = call;
  other.dtype = DType::kInt64;
  EXPECT_EQ(mismatch(pair_of(call, other)),
            refused(1, 100, "dtype of call 1 in group 'low'",
                    "float32, as on rank 0 (node 0, reduce)", "int64"));
  other = call;
  other.root_or_peer = 0;
  EXPECT_EQ(mismatch(pair_of(call, other)), refused(1, 100, "root of call 1 in group 'low'",
                                                    "1, as on rank 0 (node 0, reduce)", "0"));
  other.root_or_peer = 2;
  EXPECT_EQ(mismatch(pair_of(call, other)),
            refused(1, 100, "root of call 1 in group 'low'", "0 to 1", "2"));
  other = call;
  other.reduce_op = "max";
  EXPECT_EQ(mismatch(pair_of(call, other)), refused(1, 100, "reduce_op of call 1 in group 'low'",
                                                    "sum, as on rank 0 (node 0, reduce)", "max"));
}

TEST(Match, SplitsThatAreNotTransposed) {
  EXPECT_EQ(mismatch(pair_of(all_to_allv({1, 2}, {1, 7}), all_to_allv({6, 0}, {2, 0}))),
            refused(1, 100, "in_splits[0] of call 1 in group 'low'",
                    "7 elements, as on rank 0 (node 0, all_to_allv)", "6 elements"));
}

TEST(Match, OrderOfRanksInTheGroupCounts) {
  // In 'crossed' rank 1 is first: its part is the first output.
  const CommRecord first = record(CommKind::kAllGather, 3, {10}, {11, 10});
  const CommRecord second = record(CommKind::kAllGather, 3, {11}, {11, 10});
  EXPECT_EQ(mismatch(pair_of(first, second)), "");
  EXPECT_EQ(mismatch(pair_of(second, first)),
            refused(1, 100, "inputs of call 1 in group 'crossed'", "11 elements", "10 elements"));
}

TEST(Match, RankOutsideOfItsGroup) {
  const CommRecord call = record(CommKind::kBarrier, 2, {}, {});
  EXPECT_EQ(mismatch(ranks_of({{call}, {}, {call}, {call}})),
            refused(0, 0, "group 'high'", "a group that this rank is in", "ranks 2 3"));
}

TEST(Match, GroupThatIsNotThere) {
  EXPECT_EQ(mismatch(ranks_of({{record(CommKind::kBarrier, 9, {}, {})}, {}, {}, {}})),
            refused(0, 0, "group", "below 4", "9"));
}

TEST(Match, GroupOfRanksThatTheJobLacks) {
  EXPECT_EQ(mismatch(ranks_of({{record(CommKind::kBarrier, 1, {}, {})}})),
            refused(0, 0, "group 'low'", "ranks from 0 to 0", "ranks 0 1"));
}

TEST(Match, MessagesPairUp) {
  const CommRecord send = record(CommKind::kSend, 3, {4}, {4}, 0);
  const CommRecord receive = record(CommKind::kRecv, 3, {4}, {4}, 1);
  // In 'crossed' world rank 1 is rank 0, so rank 0 sends to rank 1.
  EXPECT_EQ(mismatch(pair_of(send, receive)), "");

  CommRecord larger = receive;
  larger.outputs = {5};
  EXPECT_EQ(mismatch(pair_of(send, larger)),
            refused(1, 100, "size of recv 1 from rank 0 in group 'crossed'",
                    "4 elements, as rank 0 sends (node 0)", "5 elements"));
  CommRecord other = receive;
  other.dtype = DType::kBFloat16;
  EXPECT_EQ(mismatch(pair_of(send, other)),
            refused(1, 100, "dtype of recv 1 from rank 0 in group 'crossed'",
                    "float32, as rank 0 sends (node 0)", "bfloat16"));
  CommRecord batched = receive;
  batched.in_batch = true;
  EXPECT_EQ(mismatch(pair_of(send, batched)),
            refused(1, 100, "batch of recv 1 from rank 0 in group 'crossed'",
                    "alone, as rank 0 sends (node 0)",
                    "in a batch (over NCCL the two would never meet)"));
}

TEST(Match, MessagesWithoutTheOtherSide) {
  const CommRecord send = record(CommKind::kSend, 0, {4}, {4}, 1);
  const CommRecord receive = record(CommKind::kRecv, 0, {4}, {4}, 0);
  EXPECT_EQ(mismatch(ranks_of({{send, send}, {receive}, {}, {}})),
            refused(0, 1, "send 2 to rank 1 in group 'world'", "a recv from rank 0 on rank 1",
                    "only 1 there"));
  EXPECT_EQ(mismatch(ranks_of({{}, {receive}, {}, {}})),
            refused(1, 100, "recv 1 from rank 0 in group 'world'", "a send to rank 1 on rank 0",
                    "only 0 there"));
  EXPECT_EQ(mismatch(ranks_of({{record(CommKind::kSend, 0, {4}, {4}, 4)}, {}, {}, {}})),
            refused(0, 0, "peer", "0 to 3", "4"));
}

TEST(Match, AnErrorShowsTheLastFiveCallsOfBothRanksInThatGroup) {
  std::vector<std::vector<CommRecord>> calls(2);
  for (std::vector<CommRecord>& of_rank : calls) {
    for (std::int64_t size = 1; size <= 6; ++size) {
      of_rank.push_back(record(CommKind::kAllReduce, 1, {size}, {size}));
      of_rank.push_back(record(CommKind::kBarrier, 3, {}, {}));
    }
    of_rank.push_back(record(CommKind::kAllReduce, 1, {8, 9}, {8, 9}));
  }
  calls[1][10].inputs = {7};
  const Matching found = match(ranks_of(calls));
  ASSERT_EQ(found.mismatches.size(), 1U);
  EXPECT_EQ(found.mismatches.front().context().got,
            "7 elements\n"
            "rank 0's last calls in group 'low': 2 allreduce float32 2 (node 2); 3 allreduce "
            "float32 3 (node 4); 4 allreduce float32 4 (node 6); 5 allreduce float32 5 (node 8); 6 "
            "allreduce float32 6 (node 10)\n"
            "rank 1's last calls in group 'low': 2 allreduce float32 2 (node 102); 3 allreduce "
            "float32 3 (node 104); 4 allreduce float32 4 (node 106); 5 allreduce float32 5 (node "
            "108); 6 allreduce float32 7 (node 110)");
  calls[1].resize(4);
  const Matching shorter = match(ranks_of(calls));
  ASSERT_EQ(shorter.mismatches.size(), 2U);  // one of each group
  EXPECT_EQ(shorter.mismatches.back().context().got,
            "only 2 calls there\n"
            "rank 1's last calls in group 'crossed': 1 barrier (node 101); 2 barrier (node 103)\n"
            "rank 0's last calls in group 'crossed': 1 barrier (node 1); 2 barrier (node 3); 3 "
            "barrier (node 5)");
}

TEST(Match, RanksThatAreStuckAndWhomTheyWaitFor) {
  const CommRecord low = record(CommKind::kAllReduce, 1, {4}, {4});
  CommRecord blocked = record(CommKind::kAllReduce, 0, {4}, {4});
  blocked.joined_before = {1};
  const CommRecord world = record(CommKind::kAllReduce, 0, {4}, {4});
  // Rank 1 lacks the call of 'low', for which rank 0 waits; the others wait for rank 0.
  const Matching found = match(ranks_of({{low, blocked}, {world}, {world}, {world}}));
  ASSERT_EQ(found.mismatches.size(), 1U);
  EXPECT_TRUE(found.orders.empty());
  const std::vector<StuckRank> stuck = {{0, 0, 1}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
  EXPECT_EQ(found.stuck, stuck);
  const std::vector<StuckRank> each_other = {{0, 0, 1}, {1, 0, 0}};
  EXPECT_EQ(match(pair_of(low, record(CommKind::kBroadcast, 1, {4}, {4}))).stuck, each_other);
}

TEST(Match, EqualCallsAreHeldOnce) {
  const CommRecord call = record(CommKind::kAllReduce, 0, {4}, {4});
  const JobComms comms = ranks_of(std::vector(4, std::vector(100, call)));
  EXPECT_EQ(comms.distinct(), 1U);
  EXPECT_TRUE(match(comms).mismatches.empty());
}

}  // namespace
}  // namespace understudy::matching
