#include "predictor/overheads/overheads.h"

#include <gtest/gtest.h>

#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/json_fields.h"

namespace understudy::predictor {
namespace {

TEST(Distribution, LeavesOutWhatLiesFarOutside) {
  std::vector<double> samples;
  for (int i = 1; i <= 99; ++i) {
    samples.push_back(100 + i);
  }
  samples.push_back(1e6);
  const Distribution kept = distribution_of(samples);
  EXPECT_EQ(kept.n, 99U);
  EXPECT_DOUBLE_EQ(kept.mean_ns, 150);
  EXPECT_NEAR(kept.p5_ns, 105.9, 1e-9);
  EXPECT_EQ(distribution_of({}), Distribution());
}

HostOverheads two_operators() {
  return {{50, 10000, 9000, 11000},
          {{"aten::linear", {{9, 78000, 77000, 80000}, {}}},
           {"aten::to", {{9, 40000, 39000, 41000}, {9, 3000, 2900, 3100}}}}};
}

TEST(HostTime, IsThatOfCallsThatLaunchAsMuch) {
  const HostOverheads host = two_operators();
  const Estimate linear = host_time_of(host, "aten::linear", true);
  EXPECT_DOUBLE_EQ(linear.ns, 78000);
  EXPECT_DOUBLE_EQ(linear.low_ns, 77000);
  EXPECT_DOUBLE_EQ(linear.high_ns, 80000);
  EXPECT_TRUE(linear.modelled);
  EXPECT_DOUBLE_EQ(host_time_of(host, "aten::to", true).ns, 40000);
  EXPECT_DOUBLE_EQ(host_time_of(host, "aten::to", false).ns, 3000);
  EXPECT_DOUBLE_EQ(host_time_of(host, "aten::linear", false).ns, 78000) << "the only one known";
  EXPECT_DOUBLE_EQ(gap_of(host).ns, 10000);
}

TEST(HostTime, OfAnUnknownOperatorIsThatOfTheMedianCall) {
  HostOverheads host = two_operators();
  host.operators.at("aten::linear").launching.n = 20;
  const Estimate unknown = host_time_of(host, "aten::relu", true);
  EXPECT_DOUBLE_EQ(unknown.ns, 78000);
  EXPECT_DOUBLE_EQ(unknown.low_ns, 40000);
  EXPECT_FALSE(unknown.modelled);
}

TEST(Overheads, AreSharedOverWorkloads) {
  OverheadSamples a{{1, 2}, {{"op", {{10, 10}, {}}}}};
  merge(a, {{3}, {{"op", {{20, 20}, {1}}}}});
  const HostOverheads host = summarize(a);
  EXPECT_DOUBLE_EQ(host.gap.mean_ns, 2);
  EXPECT_EQ(host.operators.at("op").launching.n, 4U);
  EXPECT_DOUBLE_EQ(host.operators.at("op").launching.mean_ns, 15);
  EXPECT_EQ(host.operators.at("op").unlaunched.n, 1U);
}

TEST(Overheads, ReadBackAsWritten) {
  const et_schema::JsonSource source{"p.json", "the platform cannot be read", "make it again"};
  const nlohmann::json document = et_schema::parse_json(to_json(two_operators()), source);
  EXPECT_EQ(overheads_from_json(et_schema::JsonField(document, source)), two_operators());
}

}  // namespace
}  // namespace understudy::predictor
