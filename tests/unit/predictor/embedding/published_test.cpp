#include "predictor/embedding/published.h"

#include <gtest/gtest.h>

#include <cmath>

namespace understudy::predictor {
namespace {

// The DLRM iteration that overheads/dlrm_default_b2048_v100_* is of: 2,048 samples, 8 fused tables
// of a million rows, 64 wide, 100 lookups a bag. Measured on that V100: lookups 518 us, backward
// 1,268. By the published formulas:
EmbeddingCall dlrm(Direction direction) {
  EmbeddingCall call{{}, 2048, direction};
  call.tables.assign(8, EmbeddingTable{.rows = 1'000'000, .dim = 64, .pooling = 100});
  return call;
}

TEST(PublishedFormulas, EmbeddingTablesOfTheDlrmIteration) {
  const PublishedEmbeddingCosts costs(published_v100());
  EXPECT_NEAR(costs.of(dlrm(Direction::kForward)).ns / 1e3, 558.5, 0.2);
  EXPECT_NEAR(costs.of(dlrm(Direction::kBackward)).ns / 1e3, 1086, 0.5);
  EXPECT_NEAR(costs.of(dlrm(Direction::kForward)).ns / 518e3 - 1, 0.078, 0.0005);
  EXPECT_NEAR(costs.of(dlrm(Direction::kBackward)).ns / 1268e3 - 1, -0.144, 0.001);
}

TEST(PublishedFormulas, TablesOfHalfAsLargeNumbersReadHalfAsManyBytes) {
  EmbeddingTable table{.rows = 1000, .dim = 64, .pooling = 10};
  EXPECT_EQ(published_forward_bytes(table, 1), 32 + 64 + 64 + 11 * 256);
  table.item_bytes = 2;
  EXPECT_EQ(published_forward_bytes(table, 1), 32 + 64 + 64 + 11 * 128);
  EXPECT_EQ(published_backward_bytes(table, 1), 32 + 64 + 64 + 21 * 128);
}

TEST(PublishedFormulas, ArithmeticBoundsTheBackwardPassOfAFastMemory) {
  PublishedCard card = published_v100();
  card.peak_gflops = 1;
  const PublishedEmbeddingCosts costs(card);
  const EmbeddingTable table{.rows = 1000, .dim = 128, .pooling = 50};
  EXPECT_NEAR(costs.load(table, 64, Direction::kBackward),
              64.0 * 50 * 128 / card.peak_gflops * card.dram_gb_per_s, 1);
}

TEST(PublishedFormulas, HitRateOfUniformDraws) {
  const EmbeddingTable table{.rows = 100, .dim = 64, .pooling = 10};
  // 1,000 draws meet all of 100 rows: 900 meet one again if all are kept.
  EXPECT_NEAR(published_hit_rate(table, 100, 100), 0.9, 0.001);
  // Only 50 are kept: half of the draws after the first 50 find theirs.
  EXPECT_NEAR(published_hit_rate(table, 100, 50), 1 - (50 + 950 * 0.5) / 1000, 1e-12);
}

TEST(PublishedFormulas, NoTablesAreNoCall) {
  const PublishedEmbeddingCosts costs(published_v100());
  EXPECT_EQ(costs.of({{}, 2048, Direction::kForward}).ns, 0);
}

}  // namespace
}  // namespace understudy::predictor
