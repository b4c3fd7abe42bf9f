// The state of a GPU through a driver's library, here one of our own.

#include "replayer/device/nvml.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "et_schema/support/error.h"

namespace understudy::replayer {
namespace {

using et_schema::GpuState;
using et_schema::GpuUse;
using Texts = std::vector<std::string>;

class NvmlTest : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("FAKE_NVML"); }
  void TearDown() override { unsetenv("FAKE_NVML"); }
};

template <typename Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const et_schema::Error& error) {
    EXPECT_EQ(error.kind(), et_schema::ErrorKind::kFailed);
    return et_schema::to_text(error);
  }
  return "no error";
}

TEST_F(NvmlTest, ReadsWhatTheGpuTells) {
  const GpuMonitor monitor(UNDERSTUDY_FAKE_NVML, "0000:3b:00.0");
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
  setenv("FAKE_NVML", "throttled", 1);
  const GpuMonitor monitor(UNDERSTUDY_FAKE_NVML, "");
  const GpuState before = monitor.read();
  const et_schema::GpuHealth health = gpu_health(monitor, before, monitor.read(), 1);
  EXPECT_EQ(health.warnings,
            (Texts{"the GPU held its clocks down after the measured iterations: sw_power_cap, "
                   "hw_thermal_slowdown",
                   "the SM clock moved from 1980 to 1200 MHz while measuring"}));
  EXPECT_EQ(refusal([&] {
              require_steady_clocks(GpuUse{{}, health, ""});
            }),
            "the GPU's clocks were not steady\n"
            "  field:    --require-steady-clocks\n"
            "  expected: a GPU that nothing held down, at one clock before and after\n"
            "  got:      the GPU held its clocks down after the measured iterations: sw_power_cap, "
            "hw_thermal_slowdown; the SM clock moved from 1980 to 1200 MHz while measuring\n"
            "  hint:     Fix the clocks (nvidia-smi --lock-gpu-clocks) below what power and heat "
            "allow, and let nothing else run on the GPU.");
}

TEST_F(NvmlTest, SmallDriftIsSteady) {
  GpuState before;
  before.sm_clock_mhz = 1980;
  before.memory_clock_mhz = 2619;
  GpuState after = before;
  after.sm_clock_mhz = 1950;
  EXPECT_TRUE(clock_warnings(before, after).empty());
  after.sm_clock_mhz = 1935;
  EXPECT_EQ(clock_warnings(before, after).size(), 1U);
}

TEST_F(NvmlTest, WithoutAReadingClocksAreNotSteady) {
  const GpuUse unread{{}, {}, "no library"};
  EXPECT_EQ(refusal([&] { require_steady_clocks(unread); }),
            "the GPU's clocks were not steady\n"
            "  field:    --require-steady-clocks\n"
            "  expected: a GPU that nothing held down, at one clock before and after\n"
            "  got:      no reading: no library\n"
            "  hint:     Fix the clocks (nvidia-smi --lock-gpu-clocks) below what power and heat "
            "allow, and let nothing else run on the GPU.");
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
