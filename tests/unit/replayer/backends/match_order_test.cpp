#include <gtest/gtest.h>

#include "match_samples.h"
#include "testing/error_text.h"

namespace understudy::matching {
namespace {

using et_schema::CommKind;

/// Joins the call right before it.
CommRecord after(CommRecord call) {
  call.joined_before = {1};
  return call;
}

const CommRecord kWorld = record(CommKind::kAllReduce, 0, {4}, {4});
const CommRecord kLow = record(CommKind::kAllReduce, 1, {4}, {4});

TEST(Order, BlockingCallsOfTwoGroupsInDifferentOrders) {
  EXPECT_EQ(
      mismatch(ranks_of({{kWorld, after(kLow)}, {kLow, after(kWorld)}, {kWorld}, {kWorld}})),
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
  EXPECT_EQ(mismatch(ranks_of({{kWorld, after(kLow)}, {kLow, kWorld}, {kWorld}, {kWorld}})), "");
}

std::vector<et_schema::CommOrder> orders(const std::vector<std::vector<CommRecord>>& calls) {
  return match(ranks_of(calls)).orders;
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
  const auto bound = orders({{kWorld, after(kLow)}, {kLow, kWorld}, {kWorld}, {kWorld}});
  EXPECT_EQ(bound[0].turns, (Turns{0, 1}));
  EXPECT_EQ(bound[1].turns, (Turns{1, 0}));
}

TEST(Order, SendsThatAreJoinedBeforeTheirReceivesAreKeptApart) {
  const auto send = [](int peer) { return record(CommKind::kSend, 0, {4}, {4}, peer); };
  const auto receive = [](int peer) { return record(CommKind::kRecv, 0, {4}, {4}, peer); };
  const auto both = orders({{send(1), after(receive(1))}, {send(0), after(receive(0))}, {}, {}});
  EXPECT_EQ(both[0].kept_apart, (std::vector<bool>{true, false}));
  EXPECT_EQ(both[1].kept_apart, (std::vector<bool>{false, false}));  // one copy is enough
  const auto one = orders({{send(1), after(receive(1))}, {receive(0), after(send(0))}, {}, {}});
  EXPECT_EQ(one[0].kept_apart, (std::vector<bool>{false, false}));
  EXPECT_EQ(one[1].kept_apart, (std::vector<bool>{false, false}));
}

TEST(Order, BothReceiveBeforeTheySend) {
  const auto send = [](int peer) { return record(CommKind::kSend, 0, {4}, {4}, peer); };
  const auto receive = [](int peer) { return record(CommKind::kRecv, 0, {4}, {4}, peer); };
  EXPECT_EQ(
      mismatch(ranks_of({{receive(1), after(send(1))}, {receive(0), after(send(0))}, {}, {}})),
      mismatch_text("ranks would wait for each other in a circle", 0, 0,
                    "order of communications in group 'world'",
                    "calls that the ranks wait for in one order",
                    "rank 0 waits in recv (node 0) of group 'world' for rank 1; rank 1 waits "
                    "in recv (node 100) of group 'world' for rank 0",
                    ""));
  EXPECT_EQ(
      mismatch(ranks_of({{send(1), after(receive(1))}, {send(0), after(receive(0))}, {}, {}})), "");
}

TEST(Order, ARankThatWaitsForTheCircleIsNotNamedFirst) {
  // Rank 3 waits for rank 2 in 'high', which waits for 0 and 1, which wait for each other.
  const CommRecord high = record(CommKind::kBarrier, 2, {}, {});
  const std::string text = mismatch(ranks_of({{kLow, after(kWorld)},
                                              {kWorld, after(kLow)},
                                              {kWorld, after(high)},
                                              {high, after(kWorld)}}));
  EXPECT_NE(text.find("rank 0 waits in allreduce (node 0) of group 'low' for rank 1"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("rank 3 waits"), std::string::npos) << text;
}

TEST(OrderText, ThereAndBack) {
  for (const et_schema::CommOrder& order :
       {et_schema::CommOrder{}, et_schema::CommOrder{{0, 1, 2}, {false, false, false}},
        et_schema::CommOrder{{0, 1, 2}, {true, false, true}},
        et_schema::CommOrder{{2, 0, 1}, {false, true, false}}}) {
    EXPECT_EQ(parse_order(to_text(order)), order);
  }
  EXPECT_EQ(to_text({{0, 1, 2}, {false, false, false}}), "3 0");
}

TEST(OrderText, WhatCannotBeRead) {
  for (const char* text : {"", "3", "3 2 0 1", "3 3 0 1", "3 3 0 1 3", "3 0 3", "3 0 x"}) {
    EXPECT_EQ(testing_errors::error_of([&] { return parse_order(text); }),
              et_schema::to_text(et_schema::bad_input(
                  "the order of a rank's communications cannot be read",
                  {.expected = "numbers, as rank 0 of the same version writes them",
                   .got = text,
                   .hint = "all ranks must run the same version"})));
  }
}

}  // namespace
}  // namespace understudy::matching
