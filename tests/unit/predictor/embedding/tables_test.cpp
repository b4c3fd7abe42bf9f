#include "predictor/embedding/tables.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "et_schema/base/error.h"
#include "et_schema/base/json_fields.h"

namespace understudy::predictor {
namespace {

TEST(ReuseShares, BinsDouble) {
  EXPECT_EQ(reuse_bin(1), 0U);
  EXPECT_EQ(reuse_bin(2), 1U);
  EXPECT_EQ(reuse_bin(3), 2U);
  EXPECT_EQ(reuse_bin(4), 2U);
  EXPECT_EQ(reuse_bin(5), 3U);
  EXPECT_EQ(reuse_bin(32768), 15U);
  EXPECT_EQ(reuse_bin(32769), 16U);
  EXPECT_EQ(reuse_bin(std::int64_t{1} << 60U), 16U);
}

TEST(ReuseShares, ThePublishedHistogramHasThePublishedMean) {
  // facebookresearch/dlrm_datasets 2022: 12.7 lookups a row that is met, tail bins rounded to 0.
  const ReuseShares shares = {.342, .144, .149, .138, .112, .068, .029, .010, .004,
                              .002, .001, .001, 0,    0,    0,    0,    0};
  EXPECT_NEAR(mean_reuse(shares), 12.7, 2);
}

TEST(ReuseShares, OfUniformDraws) {
  const ReuseShares rare = uniform_shares(10, 1e6);
  EXPECT_NEAR(rare[0], 1, 1e-4);
  const ReuseShares often = uniform_shares(1e6, 100);
  EXPECT_NEAR(often[reuse_bin(10000)], 1, 1e-9);
  for (const double mean : {0.0, 1e-6, 0.5, 3.0, 900.0, 2000.0}) {
    const ReuseShares shares = uniform_shares(1e5 * mean, 1e5);
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-9);
  }
}

std::string table_message(const std::string& json) {
  const et_schema::JsonSource source{"t.json", "the tables cannot be read", "see docs/formats.md"};
  const nlohmann::json document = et_schema::parse_json(json, source);
  try {
    EmbeddingTable table;
    read_value(et_schema::JsonField(document, source), table);
  } catch (const et_schema::Error& error) {
    return error.context().field + ": " + error.context().expected + ", got " + error.context().got;
  }
  return "read";
}

TEST(EmbeddingTable, ReadsWhatIsGivenAndRefusesTheRest) {
  EXPECT_EQ(table_message(R"({"rows":10,"dim":4,"pooling":1.5})"), "read");
  EXPECT_EQ(table_message(R"({"rows":1e5,"dim":64.0,"pooling":1})"), "read");
  EXPECT_EQ(table_message(R"({"rows":1.5,"dim":4,"pooling":1})"),
            "rows: an integer of 64 bits, got 1.5");
  EXPECT_EQ(table_message(R"({"rows":0,"dim":4,"pooling":1})"), "rows: 1 or more, got 0");
  EXPECT_EQ(table_message(R"({"rows":1,"dim":-4,"pooling":1})"), "dim: 1 or more, got -4");
  EXPECT_EQ(table_message(R"({"rows":1,"dim":4,"pooling":0})"), "read");
  EXPECT_EQ(table_message(R"({"rows":1,"dim":4,"pooling":-1})"),
            "pooling: lookups a bag, 0 or more, got -1");
  EXPECT_EQ(table_message(R"({"rows":1,"dim":4})"), "pooling: this key, got none");
  EXPECT_EQ(table_message(R"({"rows":1,"dim":4,"pooling":1,"dtype":"float31"})"),
            "dtype: an element type, got \"float31\"");
  EXPECT_EQ(table_message(R"({"rows":1,"dim":4,"pooling":1,"reuse":[1]})"),
            "reuse: 17 shares of the rows that a batch meets, got 1");
  EXPECT_EQ(table_message(
                R"({"rows":1,"dim":4,"pooling":1,"reuse":[0.5,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]})"),
            "reuse: 17 shares that add up to 1, got 0.500000");
  EXPECT_EQ(table_message(R"({"rows":4611686018427387904,"dim":4611686018427387904,"pooling":1})"),
            ": a table below 2^62 bytes, got an object");
}

}  // namespace
}  // namespace understudy::predictor
