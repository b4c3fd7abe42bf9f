// The way of a device, on the CPU: the clock stands for its events.
#include "device_sampler.h"

#include <gtest/gtest.h>

#include "bound_call.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/calibrator/design/call.h"
#include "replayer/calibrator/design/recipe.h"

namespace understudy::calibrator {
namespace {

constexpr std::int64_t kFewBytes = 1 << 16;

TEST(DeviceSampler, ColdAndWarmWithTheHostsTimeOfEach) {
  const auto backend = backends::make_single_backend({});
  Call call = *make_call({"aten::add_.Tensor", "", "{64,64} {64,64} 1"}, {}, {});
  ASSERT_EQ(complete(call), "");
  BoundCall bound(make_program(call), *backend, 0);
  ASSERT_EQ(bound.refusal(), "");
  bound.prepare();
  DeviceSampler sampler(c10::Device(c10::kCPU), kFewBytes);
  const DeviceSamples samples = sampler.sample(bound, {.least = 10, .most = 10, .seconds = 0});
  EXPECT_EQ(samples.cold_ns.size(), 10U);
  EXPECT_EQ(samples.warm_ns.size(), 10U);
  ASSERT_EQ(samples.host_ns.size(), 20U);
  for (std::size_t i = 0; i < samples.cold_ns.size(); ++i) {
    // Here the call is over when the host has issued it.
    EXPECT_GT(samples.host_ns[2 * i], 0);
    EXPECT_GE(samples.cold_ns[i], samples.host_ns[2 * i]);
    EXPECT_GE(samples.warm_ns[i], samples.host_ns[2 * i + 1]);
  }
}

TEST(DeviceSampler, EndsWithTheTimeItHas) {
  const auto backend = backends::make_single_backend({});
  Call call = *make_call({"aten::mm", "", "{256,256} {256,256}"}, {}, {});
  ASSERT_EQ(complete(call), "");
  BoundCall bound(make_program(call), *backend, 0);
  bound.prepare();
  DeviceSampler sampler(c10::Device(c10::kCPU), kFewBytes);
  const DeviceSamples samples = sampler.sample(bound, {.least = 2, .most = 1000, .seconds = 1e-9});
  EXPECT_EQ(samples.cold_ns.size(), 2U);
}

}  // namespace
}  // namespace understudy::calibrator
