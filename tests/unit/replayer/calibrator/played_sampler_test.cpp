// The way of a GPU, on LibTorch's own CUDA half with the played card (timed_card.h).
#include <gtest/gtest.h>

#include <algorithm>

#include "bound_call.h"
#include "device_sampler.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/calibrator/design/call.h"
#include "replayer/calibrator/design/recipe.h"
#include "replayer/device/device.h"
#include "timed_card.h"

namespace understudy::calibrator {
namespace {

constexpr std::int64_t kNothingThatKeepsTheGpuBusy = 0;
constexpr double kKernelNs = timed_card::kKernelMs * 1e6;

TEST(PlayedSampler, TheHostsTimeToIssueACallIsNotTheDevices) {
  const c10::Device gpu = replayer::open_device("cuda", std::nullopt);
  const auto backend = backends::make_single_backend({});
  Call call = *make_call({"aten::add_.Tensor", "", "{64,64} {64,64} 1"}, {}, {});
  ASSERT_EQ(complete(call), "");
  BoundCall bound(make_program(call), *backend, 0, gpu);
  ASSERT_EQ(bound.refusal(), "");
  bound.prepare();
  DeviceSampler sampler(gpu, kNothingThatKeepsTheGpuBusy);
  const DeviceSamples samples = sampler.sample(bound, {.least = 50, .most = 50, .seconds = 0});
  // Whoever takes the core meanwhile makes the host late once, or twice.
  EXPECT_NEAR(*std::ranges::min_element(samples.cold_ns), kKernelNs, 10);
  EXPECT_NEAR(*std::ranges::min_element(samples.warm_ns), kKernelNs, 10);
  EXPECT_GT(*std::ranges::min_element(samples.host_ns), 0);
}

}  // namespace
}  // namespace understudy::calibrator
