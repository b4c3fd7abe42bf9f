#include <gtest/gtest.h>

#include "match_samples.h"

namespace understudy::matching {
namespace {

using et_schema::CommKind;

CommRecord after(CommRecord call, std::vector<std::uint32_t> joined) {
  call.joined_before = std::move(joined);
  return call;
}

const CommRecord kWorld = record(CommKind::kAllReduce, 0, {4}, {4});
const CommRecord kLow = record(CommKind::kAllReduce, 1, {4}, {4});

TEST(Order, BlockingCallsOfTwoGroupsInDifferentOrders) {
  EXPECT_EQ(
      mismatch(
          ranks_of({{kWorld, after(kLow, {0})}, {kLow, after(kWorld, {0})}, {kWorld}, {kWorld}})),
      mismatch_text("ranks would wait for each other in a circle", 0, 0,
                    "order of communications in group 'world'",
                    "calls that the ranks wait for in one order",
                    "rank 0 waits in allreduce (node 0) of group 'world' for rank 1; rank 1 waits "
                    "in allreduce (node 100) of group 'low' for rank 0",
                    ""));
}

TEST(Order, TheSameCallsAsynchronous) {
  EXPECT_EQ(mismatch(ranks_of({{kWorld, kLow}, {kLow, kWorld}, {kWorld}, {kWorld}})), "");
  // It is enough if one of the two ranks does not wait.
  EXPECT_EQ(mismatch(ranks_of({{kWorld, after(kLow, {0})}, {kLow, kWorld}, {kWorld}, {kWorld}})),
            "");
}

std::vector<et_schema::CommOrder> orders(std::vector<std::vector<CommRecord>> calls) {
  return match_programs(ranks_of(std::move(calls)), sample_groups());
}

using Turns = std::vector<std::uint32_t>;

TEST(Order, IsTheProgramsWhereThatLeadsIntoNoCircle) {
  const CommRecord high = record(CommKind::kAllReduce, 2, {4}, {4});
  const auto found =
      orders({{kLow, kWorld, kLow}, {kLow, kWorld, kLow}, {kWorld, high}, {kWorld, high}});
  EXPECT_EQ(found[0].turns, (Turns{0, 1, 2}));
  EXPECT_EQ(found[1].turns, (Turns{0, 1, 2}));
  EXPECT_EQ(found[2].turns, (Turns{0, 1}));
  EXPECT_EQ(found[3].turns, (Turns{0, 1}));
}

TEST(Order, AsynchronousCallsOfTwoGroupsInDifferentOrdersTakeTurns) {
  // Where each blocks, ranks 0 and 1 wait for each other: one of them has to put a call off.
  const auto found = orders({{kWorld, kLow}, {kLow, kWorld}, {kWorld}, {kWorld}});
  EXPECT_EQ(found[0].turns, (Turns{1, 0}));
  EXPECT_EQ(found[1].turns, (Turns{0, 1}));
  // A rank that cannot put it off, since it waits: the other does.
  const auto bound = orders({{kWorld, after(kLow, {0})}, {kLow, kWorld}, {kWorld}, {kWorld}});
  EXPECT_EQ(bound[0].turns, (Turns{0, 1}));
  EXPECT_EQ(bound[1].turns, (Turns{1, 0}));
}

TEST(Order, SendsThatAreJoinedBeforeTheirReceivesAreKeptApart) {
  const auto send = [](int peer) { return record(CommKind::kSend, 0, {4}, {4}, peer); };
  const auto receive = [](int peer) { return record(CommKind::kRecv, 0, {4}, {4}, peer); };
  const auto both =
      orders({{send(1), after(receive(1), {0})}, {send(0), after(receive(0), {0})}, {}, {}});
  EXPECT_EQ(both[0].kept_apart, (std::vector<bool>{true, false}));
  EXPECT_EQ(both[1].kept_apart, (std::vector<bool>{false, false}));  // one copy is enough
  const auto one =
      orders({{send(1), after(receive(1), {0})}, {receive(0), after(send(0), {0})}, {}, {}});
  EXPECT_EQ(one[0].kept_apart, (std::vector<bool>{false, false}));
  EXPECT_EQ(one[1].kept_apart, (std::vector<bool>{false, false}));
}

TEST(Order, BothReceiveBeforeTheySend) {
  const auto send = [](int peer) { return record(CommKind::kSend, 0, {4}, {4}, peer); };
  const auto receive = [](int peer) { return record(CommKind::kRecv, 0, {4}, {4}, peer); };
  EXPECT_EQ(mismatch(ranks_of(
                {{receive(1), after(send(1), {0})}, {receive(0), after(send(0), {0})}, {}, {}})),
            mismatch_text("ranks would wait for each other in a circle", 0, 0,
                          "order of communications in group 'world'",
                          "calls that the ranks wait for in one order",
                          "rank 0 waits in recv (node 0) of group 'world' for rank 1; rank 1 waits "
                          "in recv (node 100) of group 'world' for rank 0",
                          ""));
  EXPECT_EQ(mismatch(ranks_of(
                {{send(1), after(receive(1), {0})}, {send(0), after(receive(0), {0})}, {}, {}})),
            "");
}

TEST(Order, ARankThatWaitsForTheCircleIsNotNamedFirst) {
  // Rank 3 waits for rank 2 in 'high', which waits for 0 and 1, which wait for each other.
  const CommRecord high = record(CommKind::kBarrier, 2, {}, {});
  const std::string text = mismatch(ranks_of({{kLow, after(kWorld, {0})},
                                              {kWorld, after(kLow, {0})},
                                              {kWorld, after(high, {0})},
                                              {high, after(kWorld, {0})}}));
  EXPECT_NE(text.find("rank 0 waits in allreduce (node 0) of group 'low' for rank 1"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("rank 3 waits"), std::string::npos) << text;
}

}  // namespace
}  // namespace understudy::matching
