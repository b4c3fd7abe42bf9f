#include "predictor/collectives/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace understudy::predictor {
namespace {

using et_schema::CommKind;

TEST(Traffic, StepsAndBytesOfARing) {
  const Traffic all_reduce = traffic_of(CommKind::kAllReduce, 800, 4);
  EXPECT_EQ(all_reduce.steps, 4);
  EXPECT_EQ(all_reduce.link_bytes, 1200);
  const Traffic all_gather = traffic_of(CommKind::kAllGatherBase, 800, 4);
  EXPECT_EQ(all_gather.steps, 2);
  EXPECT_EQ(all_gather.link_bytes, 600);
  EXPECT_EQ(traffic_of(CommKind::kSend, 800, 4).steps, 1);
  EXPECT_EQ(traffic_of(CommKind::kSend, 800, 4).link_bytes, 800);
  EXPECT_EQ(traffic_of(CommKind::kBarrier, 0, 4).link_bytes, 0);
  EXPECT_EQ(traffic_of(CommKind::kBarrier, 0, 1024).steps, 20);
  EXPECT_EQ(traffic_of(CommKind::kAllToAll, 800, 4).steps, 3) << "a message for each other rank";
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
  // A barrier tells latency alone: 10 us a step and 10 GB/s are assumed.
  const StandIn reduce = stand_in(CommKind::kAllReduce, 4e5, 4, CommKind::kBarrier);
  EXPECT_EQ(reduce.bytes, 0);
  EXPECT_DOUBLE_EQ(reduce.factor, (40000 + 60000) / 40000.0);
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
