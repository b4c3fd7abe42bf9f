#include "predictor/overheads/overheads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/json_fields.h"
#include "normal.h"

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
  EXPECT_DOUBLE_EQ(kept.median_ns, 150);
  EXPECT_NEAR(kept.deviation_ns, std::sqrt((99.0 * 99 - 1) / 12), 1e-9);
  EXPECT_NEAR(kept.p5_ns, 105.9, 1e-9);
  EXPECT_EQ(distribution_of({}), Distribution());
}

HostOverheads two_operators() {
  HostOverheads host;
  host.host = "python";
  host.t1 = normal(10000, 1000, 50);
  host.t4["cudaLaunchKernel"] = normal(5000, 300, 9);
  host.operators["aten::linear"] = {{"cudaLaunchKernel", "cudaLaunchKernel"},
                                    normal(40000, 400, 9),
                                    normal(8000, 0, 9),
                                    normal(20000, 0, 9),
                                    {},
                                    {}};
  host.operators["aten::view"].t5 = normal(3000, 100, 9);
  return host;
}

TEST(HostTime, IsTheSumOfItsParts) {
  const HostOverheads host = two_operators();
  const Estimate linear = host_time_of(host, "aten::linear", 2);
  EXPECT_DOUBLE_EQ(linear.ns, 40000 + 2 * 5000 + 20000 + 8000);
  EXPECT_NEAR(linear.high_ns - linear.ns, 1.645 * std::sqrt(400 * 400 + 2 * 300 * 300), 1e-6);
  EXPECT_TRUE(linear.modelled);
  EXPECT_DOUBLE_EQ(host_time_of(host, "aten::view", 0).ns, 3000);
  EXPECT_DOUBLE_EQ(gap_of(host).ns, 10000);
}

TEST(HostTime, OfAnUnknownOperatorIsTheMedianOfThoseLikeIt) {
  const HostOverheads host = two_operators();
  const Estimate unknown = host_time_of(host, "aten::relu", 0);
  EXPECT_DOUBLE_EQ(unknown.ns, 3000);
  EXPECT_FALSE(unknown.modelled);
  EXPECT_DOUBLE_EQ(host_time_of(host, "aten::conv2d", 7).ns, (3000 + 78000) / 2.0);
}

TEST(HostTime, ALaunchOfAnotherKindTakesTheMean) {
  HostOverheads host = two_operators();
  host.t4["cudaMemcpyAsync"] = normal(9000, 0, 9);
  host.operators["x"] = {{"hipLaunchKernel"}, normal(1, 0, 1), {}, {}, {}, {}};
  EXPECT_DOUBLE_EQ(host_time_of(host, "x", 1).ns, 7001);
}

TEST(Overheads, AreSharedOverWorkloads) {
  OverheadSamples a;
  a.t1_ns = {1, 2};
  a.operators["op"].launches[{"cudaLaunchKernel"}] = 2;
  a.operators["op"].t2_ns = {10, 10};
  OverheadSamples b;
  b.t1_ns = {3};
  b.operators["op"].launches[{"cudaLaunchKernel", "cudaLaunchKernel"}] = 1;
  b.operators["op"].t2_ns = {20, 20};
  merge(a, b);
  const HostOverheads host = summarize(a, "c++");
  EXPECT_DOUBLE_EQ(host.t1.mean_ns, 2);
  EXPECT_EQ(host.operators.at("op").t2.n, 4U);
  EXPECT_DOUBLE_EQ(host.operators.at("op").t2.mean_ns, 15);
  EXPECT_EQ(host.operators.at("op").launches.size(), 1U);
}

TEST(Overheads, ReadBackAsWritten) {
  const std::vector<HostOverheads> hosts = {two_operators(), HostOverheads{.host = "c++"}};
  const et_schema::JsonSource source{"p.json", "the platform cannot be read", "make it again"};
  const nlohmann::json document = et_schema::parse_json(to_json(hosts), source);
  EXPECT_EQ(overheads_from_json(et_schema::JsonField(document, source)), hosts);
}

}  // namespace
}  // namespace understudy::predictor
