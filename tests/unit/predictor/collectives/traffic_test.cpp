#include "predictor/collectives/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace understudy::predictor {
namespace {

TEST(Traffic, BytesOfARing) {
  EXPECT_EQ(link_bytes(CommKind::kAllReduce, 800, 4), 1200);
  EXPECT_EQ(link_bytes(CommKind::kAllGatherBase, 800, 4), 600);
  EXPECT_EQ(link_bytes(CommKind::kSend, 800, 4), 800);
  EXPECT_EQ(link_bytes(CommKind::kBarrier, 0, 4), 0);
}

TEST(Traffic, StepsOfARingOrOfATree) {
  EXPECT_EQ(steps_of(CommKind::kAllReduce, 4, 4), 6) << "a ring, there and back";
  EXPECT_EQ(steps_of(CommKind::kAllReduce, 1024, 1024), 2 * 10 * kTreeStep);
  EXPECT_EQ(steps_of(CommKind::kAllReduce, 1024, 1024, 1000), 2 * 1023) << "no tree is so slow";
  EXPECT_EQ(steps_of(CommKind::kAllReduce, 8, 1), 2 * 7 * kStepWithinNode);
  EXPECT_EQ(steps_of(CommKind::kAllReduce, 64, 8), 2 * (7 * kStepWithinNode + 3 * kTreeStep));
  EXPECT_EQ(steps_of(CommKind::kAllGatherBase, 1024, 1024), 1023) << "no tree";
  EXPECT_EQ(steps_of(CommKind::kAllToAll, 4, 4), 3) << "a message for each other rank";
  EXPECT_EQ(steps_of(CommKind::kAllToAll, 4, 1), 2 * kStepWithinNode);
  EXPECT_EQ(steps_of(CommKind::kSend, 4, 4), 1);
}

/// Lin et al.: chunk s_i = what rank i sends to each; max over i of max(sum_j s_j - s_i, (n - 1)
/// s_i).
double seed_bottleneck(const std::vector<std::int64_t>& chunks) {
  double sum = 0;
  for (const std::int64_t chunk : chunks) {
    sum += static_cast<double>(chunk);
  }
  double most = 0;
  for (const std::int64_t chunk : chunks) {
    const auto own = static_cast<double>(chunk);
    most = std::max({most, sum - own, static_cast<double>(chunks.size() - 1) * own});
  }
  return most;
}

class Splits : public testing::TestWithParam<int> {};

TEST_P(Splits, TheBusiestLinkIsTheSeedsWhereEachRankSendsEqualChunks) {
  const int n = GetParam();
  std::vector<std::int64_t> chunks;
  std::vector<std::int64_t> sent;
  for (int from = 0; from < n; ++from) {
    chunks.push_back(100 + 37 * from * from);
    for (int to = 0; to < n; ++to) {
      sent.push_back(chunks.back());
    }
  }
  const double link = equal_parts_bytes(sent, n) * (n - 1) / n;
  EXPECT_DOUBLE_EQ(link, n > 1 ? seed_bottleneck(chunks) : 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Splits, testing::Values(1, 2, 3, 4, 8));

TEST(Traffic, WhatARankKeepsIsNotSent) {
  // Rank 0 keeps all; rank 1 sends 30 to rank 0.
  EXPECT_DOUBLE_EQ(equal_parts_bytes({1000, 0, 30, 5}, 2), 60);
}

TEST(Traffic, StandInsHaveTheSameBytesAPhase) {
  const StandIn scatter = stand_in(CommKind::kReduceScatterBase, 800, 4, CommKind::kAllReduce);
  EXPECT_DOUBLE_EQ(scatter.bytes, 800);
  EXPECT_DOUBLE_EQ(scatter.factor, 0.5);
  const StandIn broadcast = stand_in(CommKind::kBroadcast, 600, 4, CommKind::kAllGatherBase);
  EXPECT_DOUBLE_EQ(broadcast.bytes, 800);
  EXPECT_DOUBLE_EQ(broadcast.factor, 1);
  const StandIn barrier = stand_in(CommKind::kBarrier, 0, 4, CommKind::kAllReduce);
  EXPECT_EQ(barrier.bytes, 0);
  EXPECT_EQ(barrier.factor, 1);
  // A barrier tells latency alone: NCCL's and 10 GB/s are assumed.
  const StandIn reduce = stand_in(CommKind::kAllReduce, 4e5, 4, CommKind::kBarrier);
  EXPECT_EQ(reduce.bytes, 0);
  EXPECT_DOUBLE_EQ(reduce.factor, (22800 + 60000) / 22800.0);
}

TEST(Traffic, UnlikePatternsAreFarApart) {
  const auto unlikeness = [](CommKind kind, CommKind other) {
    return stand_in(kind, 800, 4, other).unlikeness;
  };
  EXPECT_EQ(unlikeness(CommKind::kAllGather, CommKind::kReduceScatterBase), 0);
  EXPECT_EQ(unlikeness(CommKind::kAllReduce, CommKind::kAllGather), 1);
  EXPECT_EQ(unlikeness(CommKind::kBroadcast, CommKind::kAllGather), 1);
  EXPECT_EQ(unlikeness(CommKind::kAllToAll, CommKind::kAllReduce), 3);
  EXPECT_EQ(unlikeness(CommKind::kBarrier, CommKind::kAllReduce), 1);
}

}  // namespace
}  // namespace understudy::predictor
