// The state of a GPU through a driver's library, here one of our own.

#include "replayer/cuda/nvml.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "replayer/cuda/gpu_sampler.h"
#include "testing/error_text.h"

namespace understudy::replayer {
namespace {

using et_schema::GpuState;
using et_schema::GpuUse;
using testing_errors::told;
using Texts = std::vector<std::string>;

class NvmlTest : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("FAKE_NVML"); }
  void TearDown() override { unsetenv("FAKE_NVML"); }
};

template <typename Call>
std::string refusal(Call call) {
  return testing_errors::error_of(et_schema::ErrorKind::kFailed, [&] { return call(); });
}

TEST_F(NvmlTest, ReadsWhatTheGpuTells) {
  const GpuMonitor monitor(UNDERSTUDY_FAKE_NVML, "0000:10:00.0");
  EXPECT_EQ(monitor.name(), "A Fake GPU");
  EXPECT_EQ(monitor.driver_version(), "580.65.06");
  const GpuState state = monitor.read();
  EXPECT_EQ(state.power_w, 250.5);
  EXPECT_EQ(state.power_limit_w, 700);
  EXPECT_EQ(state.energy_j, 1000);
  EXPECT_EQ(state.sm_clock_mhz, 1980);
  EXPECT_EQ(state.sm_clock_limit_mhz, 1980);
  EXPECT_EQ(state.memory_clock_mhz, 2619);
  EXPECT_EQ(state.temperature_c, std::nullopt);
  EXPECT_EQ(state.throttle_reasons, Texts{"gpu_idle"});
}

TEST_F(NvmlTest, FindsTheGpuByItsUuid) {
  constexpr const char* kUuid = "01000000-0000-0000-0000-000000000000";
  const GpuMonitor monitor(UNDERSTUDY_FAKE_NVML, "ffff:00:00.0", kUuid);
  EXPECT_EQ(monitor.name(), "A Fake GPU");
  EXPECT_FALSE(monitor.is_of_instance());
  const GpuMonitor of_bus(UNDERSTUDY_FAKE_NVML, "0000:10:00.0",
                          "99999999-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(of_bus.name(), "A Fake GPU");
}

TEST_F(NvmlTest, OfAnInstanceItReadsTheWholeGpuAndSaysSo) {
  const GpuMonitor monitor(UNDERSTUDY_FAKE_NVML, "0000:10:00.0",
                           "11112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(monitor.name(), "A Fake GPU MIG 1g.5gb");
  const GpuState state = monitor.read();
  EXPECT_EQ(state.power_w, 250.5);
  EXPECT_EQ(gpu_health(monitor, state, state, 1).warnings,
            Texts{"power, energy and clocks are of the whole GPU, of which the replay has one "
                  "instance (MIG)"});
}

TEST_F(NvmlTest, PowerIsThatOfTheMomentWhereTheDriverTellsIt) {
  EXPECT_TRUE(GpuMonitor(UNDERSTUDY_FAKE_NVML, "").tells_instant_power());
  setenv("FAKE_NVML", "old", 1);
  const GpuMonitor old(UNDERSTUDY_FAKE_NVML, "");
  EXPECT_FALSE(old.tells_instant_power());
  EXPECT_EQ(old.read().power_w, 200);
}

TEST(EnergyEdges, TellThePowerBetweenTheCountersChanges) {
  // 250 W by a counter that moves every 100 ms, read every 30 ms from 45 ms before a change on.
  EnergyEdges edges;
  EXPECT_EQ(edges.power_w(), std::nullopt);
  for (int i = 0; i <= 20; ++i) {
    const int ms = 55 + 30 * i;
    edges.add(ms / 1000.0, 25.0 * (ms / 100));
  }
  EXPECT_EQ(edges.changes(), 6U);
  EXPECT_NEAR(*edges.power_w(), 250, 15);  // 125 J from 115 ms to 625 ms
}

TEST_F(NvmlTest, ReadsAgainAndAgainOnAThreadOfItsOwn) {
  setenv("FAKE_NVML", "throttled", 1);
  const GpuMonitor monitor(UNDERSTUDY_FAKE_NVML, "");
  GpuSampler sampler(monitor);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const GpuSampler::Result result = sampler.stop();
  const et_schema::GpuSamples& samples = result.samples;
  ASSERT_GE(samples.count, 2U);
  const auto count = static_cast<double>(samples.count);
  EXPECT_EQ(samples.sm_clock_min_mhz, 1200);
  EXPECT_EQ(samples.sm_clock_max_mhz, 1980);  // the first reading
  EXPECT_NEAR(*samples.sm_clock_mean_mhz, (1980 + (count - 1) * 1200) / count, 1e-6);
  EXPECT_EQ(samples.memory_clock_max_mhz, 2619);
  EXPECT_EQ(samples.power_mean_w, 250.5);
  EXPECT_TRUE(samples.power_is_instant);
  EXPECT_EQ(samples.energy_changes, samples.count - 1);
  EXPECT_NEAR(samples.throttled.at("sw_power_cap"), (count - 1) / count, 1e-9);
}

TEST_F(NvmlTest, EnergyAndPowerBetweenReadings) {
  const GpuMonitor monitor(UNDERSTUDY_FAKE_NVML, "");
  const GpuState before = monitor.read();
  const et_schema::GpuHealth health = gpu_health(monitor, before, monitor.read(), 4);
  EXPECT_EQ(health.energy_j, 1000);
  EXPECT_EQ(health.mean_power_w, 250);
  EXPECT_TRUE(health.warnings.empty());
  EXPECT_EQ(refusal([&] { require_steady_clocks(GpuUse{{}, health, ""}); }), "no error");
}

TEST_F(NvmlTest, ClocksThatWereHeldDownAreRefusedWhereSteadyOnesAreAskedFor) {
  et_schema::GpuSamples samples;
  samples.count = 500;
  samples.sm_clock_min_mhz = 1200;
  samples.sm_clock_max_mhz = 1980;
  samples.throttled = {{"gpu_idle", 0.5}, {"hw_thermal_slowdown", 0.01}, {"sw_power_cap", 0.25}};
  et_schema::GpuHealth health;
  health.warnings = clock_warnings(samples);
  EXPECT_EQ(health.warnings,
            (Texts{"the GPU held its clocks down in 1.0 % of 500 readings: hw_thermal_slowdown",
                   "the GPU held its clocks down in 25.0 % of 500 readings: sw_power_cap",
                   "the SM clock moved between 1200 and 1980 MHz"}));
  EXPECT_EQ(refusal([&] {
              require_steady_clocks(GpuUse{{}, health, ""});
            }),
            told("the GPU's clocks were not steady", "field: --require-steady-clocks",
                 "expected: a GPU that nothing held down, at one clock",
                 "got: the GPU held its clocks down in 1.0 % of 500 readings: hw_thermal_slowdown; "
                 "the GPU held its clocks down in 25.0 % of 500 readings: sw_power_cap; the SM "
                 "clock moved between 1200 and 1980 MHz",
                 "hint: Fix the clocks (nvidia-smi --lock-gpu-clocks) below what power and heat "
                 "allow, and let nothing else run on the GPU."));
}

TEST_F(NvmlTest, SmallDriftIsSteady) {
  et_schema::GpuSamples samples;
  samples.sm_clock_max_mhz = 1980;
  samples.memory_clock_min_mhz = samples.memory_clock_max_mhz = 2619;
  samples.sm_clock_min_mhz = 1950;
  EXPECT_TRUE(clock_warnings(samples).empty());
  samples.sm_clock_min_mhz = 1935;
  EXPECT_EQ(clock_warnings(samples).size(), 1U);
}

TEST_F(NvmlTest, WithoutAReadingClocksAreNotSteady) {
  const GpuUse unread{{}, {}, "no library"};
  EXPECT_EQ(
      refusal([&] { require_steady_clocks(unread); }),
      told("the GPU's clocks were not steady", "field: --require-steady-clocks",
           "expected: a GPU that nothing held down, at one clock", "got: no reading: no library",
           "hint: Fix the clocks (nvidia-smi --lock-gpu-clocks) below what power and heat allow, "
           "and let nothing else run on the GPU."));
}

TEST_F(NvmlTest, WhatCannotBeLoadedIsSaid) {
  const std::string hint =
      "\n  hint:     It comes with NVIDIA's driver. In a container it is there if the runtime was "
      "asked for the utility capability (NVIDIA_DRIVER_CAPABILITIES).";
  EXPECT_EQ(refusal([] { GpuMonitor("/no/such/library.so", ""); }),
            "the state of the GPU cannot be read\n"
            "  field:    NVML\n"
            "  expected: /no/such/library.so\n"
            "  got:      /no/such/library.so: cannot open shared object file: No such file or "
            "directory" +
                hint);
  EXPECT_EQ(refusal([] { GpuMonitor("libm.so.6", ""); }),
            "the state of the GPU cannot be read\n"
            "  field:    NVML\n"
            "  expected: nvmlInit_v2\n"
            "  got:      a library without it" +
                hint);
  EXPECT_EQ(refusal([] { GpuMonitor(UNDERSTUDY_FAKE_NVML, "0000:00:00.0"); }),
            "the state of the GPU cannot be read\n"
            "  field:    NVML\n"
            "  expected: a GPU at 0000:00:00.0\n"
            "  got:      Not Found" +
                hint);
}

}  // namespace
}  // namespace understudy::replayer
