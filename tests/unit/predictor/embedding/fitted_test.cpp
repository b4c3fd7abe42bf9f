#include "predictor/embedding/fitted.h"

#include <gtest/gtest.h>

#include <vector>

#include "et_schema/base/json_fields.h"
#include "fake_costs.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

/// A machine of 1 MiB of cache: 5 us a call, 2 ns a lookup, 0.1 ns a missed byte.
double true_ns(const EmbeddingCall& call) {
  double ns = 5000;
  for (const EmbeddingTable& table : call.tables) {
    const EmbeddingTerms terms = terms_of(table, static_cast<double>(call.batch), 1 << 20);
    ns += 2 * terms[3] + 0.1 * terms[6];
  }
  return call.direction == Direction::kForward ? ns : 3 * ns;
}

std::vector<EmbeddingRow> true_rows() {
  std::vector<EmbeddingRow> rows;
  for (int i = 0; i < 60; ++i) {
    ReuseShares shares{};
    shares[static_cast<std::size_t>(i % 4)] = 0.7;
    shares[static_cast<std::size_t>(i % 7 + 4)] = 0.3;
    const EmbeddingTable table{.rows = 500 << (i % 12),
                               .dim = 8 << (i % 5),
                               .pooling = 1.0 + i % 9,
                               .item_bytes = 4,
                               .reuse = shares};
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      EmbeddingRow& row = rows.emplace_back();
      row.call = {{table}, 16 << (i % 8), direction};
      row.median_ns = true_ns(row.call);
    }
  }
  return rows;
}

TEST(FittedEmbedding, FindsTheMachineThatMadeTheRows) {
  const EmbeddingModel model = fit_embedding(true_rows());
  EXPECT_EQ(model.forward.cache_bytes, 1 << 20);
  EXPECT_LT(model.forward.left_out.worst, 1e-4);
  EXPECT_LT(model.backward.left_out.worst, 1e-4);
  const EmbeddingCosts costs = embedding_costs(model);
  const EmbeddingTable table{.rows = 1'000'000, .dim = 64, .pooling = 3};
  const EmbeddingCall two{{table, table}, 300, Direction::kForward};
  const Estimate answer = time_of(costs, two);
  EXPECT_NEAR(answer.ns / true_ns(two), 1, 1e-3);
  EXPECT_LE(answer.low_ns, answer.ns);
  EXPECT_GE(answer.high_ns, answer.ns);
  EXPECT_EQ(answer.model, "embedding by reuse");
}

TEST(FittedEmbedding, HotRowsHit) {
  EmbeddingTable table{.rows = 1'000'000, .dim = 64, .pooling = 10};
  const auto misses = [&](double cache_bytes) { return terms_of(table, 1000, cache_bytes)[5]; };
  EXPECT_NEAR(misses(1 << 20), 10000, 100);  // uniform draws from a million meet few rows again
  table.reuse = ReuseShares{};
  (*table.reuse)[10] = 1;
  // 10,000 lookups of rows that are met some 725 times: about 14 rows, each fetched once.
  EXPECT_NEAR(misses(1 << 20), 10000 / bin_times(10), 0.01);
  EXPECT_GT(misses(256), misses(1 << 20));
  EXPECT_EQ(misses(1e9), 0);
}

/// 10,000 lookups of rows that are said to be met once each, in a table of 100 rows.
TEST(FittedEmbedding, NoMoreRowsAreMetThanThereAre) {
  EmbeddingTable table{.rows = 100, .dim = 64, .pooling = 10, .reuse = ReuseShares{}};
  (*table.reuse)[0] = 1;
  const double half_of_the_table = 50.0 * 64 * 4;
  EXPECT_NEAR(terms_of(table, 1000, half_of_the_table)[5], 10000 - 50 * (100 - 1), 1);
}

TEST(FittedEmbedding, WhatNobodyLooksUpMissesNothing) {
  const EmbeddingTable table{.rows = 1'000'000, .dim = 64, .pooling = 0};
  EXPECT_EQ(terms_of(table, 1000, 1 << 20), (EmbeddingTerms{0, 1, 1000, 0, 0, 0, 0}));
}

TEST(FittedEmbedding, BeyondTheRowsItIsExtrapolated) {
  const EmbeddingCosts costs = embedding_costs(fit_embedding(true_rows()));
  EXPECT_FALSE(costs.time(1000, Direction::kForward).extrapolated);
  EXPECT_TRUE(costs.time(1e12, Direction::kForward).extrapolated);
}

TEST(FittedEmbedding, FewRowsAreRefused) {
  std::vector<EmbeddingRow> rows = true_rows();
  rows.resize(10);
  EXPECT_EQ(error_of([&] { return fit_embedding(rows); }) + "\n",
            "too few rows of embedding tables\n"
            "  field:    forward\n"
            "  expected: 20 rows or more\n"
            "  got:      5\n"
            "  hint:     give more rows (docs/formats.md, \"Embedding rows\")\n");
}

TEST(FittedEmbedding, ReadBackAsWritten) {
  const EmbeddingModel model = fit_embedding(true_rows());
  const et_schema::JsonSource source{"p.json", "the platform cannot be read", "make it again"};
  const nlohmann::json document = et_schema::parse_json(to_json(model), source);
  EXPECT_EQ(embedding_from_json(et_schema::JsonField(document, source)), model);
}

}  // namespace
}  // namespace understudy::predictor
