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
  EXPECT_EQ(all_reduce.reduced_bytes, 600);
  const Traffic all_gather = traffic_of(CommKind::kAllGatherBase, 800, 4);
  EXPECT_EQ(all_gather.steps, 2);
  EXPECT_EQ(all_gather.link_bytes, 600);
  EXPECT_EQ(all_gather.reduced_bytes, 0);
  EXPECT_EQ(traffic_of(CommKind::kSend, 800, 4).steps, 1);
  EXPECT_EQ(traffic_of(CommKind::kSend, 800, 4).link_bytes, 800);
  EXPECT_EQ(traffic_of(CommKind::kBarrier, 0, 4).link_bytes, 0);
  EXPECT_EQ(traffic_of(CommKind::kBarrier, 0, 1024).steps, 20);
  EXPECT_EQ(traffic_of(CommKind::kAllToAll, 800, 4).steps, 3) << "a message for each other rank";
}

TEST(Traffic, ANodesOwnPart) {
  const NodeLevel ring = node_level(CommKind::kAllReduce, 800, 8, 2);
  EXPECT_EQ(ring.ranks, 4);
  EXPECT_DOUBLE_EQ(traffic_of(CommKind::kAllReduce, ring.bytes, 4).link_bytes,
                   traffic_of(CommKind::kAllReduce, 800, 8).link_bytes);
  const NodeLevel exchange = node_level(CommKind::kAllToAll, 800, 8, 2);
  EXPECT_EQ(exchange.ranks, 4);
  EXPECT_DOUBLE_EQ(exchange.bytes, 400);
  EXPECT_EQ(node_level(CommKind::kAllReduce, 800, 8, 8).ranks, 1);
  EXPECT_EQ(node_steps(CommKind::kAllReduce, 8), 6);
  EXPECT_EQ(node_steps(CommKind::kAllToAll, 8), 7);
}

TEST(Traffic, ARingLeavesANodeOnceAnExchangeFromEachRank) {
  EXPECT_EQ(node_bytes(CommKind::kAllReduce, 800, 8, 1), 0);
  EXPECT_EQ(node_bytes(CommKind::kAllReduce, 800, 8, 2), 1400);
  // Four ranks a node send half of their 800 bytes to the other node.
  EXPECT_EQ(node_bytes(CommKind::kAllToAll, 800, 8, 2), 1600);
  EXPECT_EQ(node_bytes(CommKind::kGather, 800, 8, 2), 400);
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

TEST(Traffic, EachKindHasKindsLikeIt) {
  EXPECT_EQ(similar_kinds(CommKind::kAllToAllV).front(), CommKind::kAllToAll);
  EXPECT_EQ(similar_kinds(CommKind::kReduceScatter).front(), CommKind::kReduceScatterBase);
  EXPECT_EQ(similar_kinds(CommKind::kAllReduce).front(), CommKind::kAllGather);
  EXPECT_EQ(similar_kinds(CommKind::kRecv).front(), CommKind::kSend);
  EXPECT_EQ(similar_kinds(CommKind::kBarrier).front(), CommKind::kAllReduce);
  for (const CommKind kind : similar_kinds(CommKind::kBroadcast)) {
    EXPECT_NE(kind, CommKind::kBarrier);
    EXPECT_NE(kind, CommKind::kBroadcast);
    EXPECT_GT(traffic_of(kind, 1, 2).link_bytes, 0);
  }
}

TEST(Traffic, LikeSizesHaveTheSameBytesAPhase) {
  EXPECT_DOUBLE_EQ(similar_bytes(CommKind::kReduceScatterBase, 800, 4, CommKind::kAllReduce), 800);
  EXPECT_DOUBLE_EQ(similar_bytes(CommKind::kBroadcast, 600, 4, CommKind::kAllGatherBase), 800);
  EXPECT_EQ(similar_bytes(CommKind::kBarrier, 0, 4, CommKind::kAllReduce), 0);
}

}  // namespace
}  // namespace understudy::predictor
