// Energy of calls by a driver's library of our own.
#include "energy_meter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "testing/error_text.h"

namespace understudy::calibrator {
namespace {

TEST(EnergyMeter, SharesTheEnergyAmongTheCallsMeanwhile) {
  // Of 250 W, by a counter that moves every 100 ms: two readings 350 ms apart see 75 J or 100 J.
  setenv("FAKE_NVML", "100", 1);
  constexpr double kSeconds = 0.35;
  const EnergyMeter meter(UNDERSTUDY_FAKE_NVML, "0000:3b:00.0", kSeconds);
  int calls = 0;
  int calls_done = 0;
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin;
  Clock::time_point end;
  const double joules = meter.joules_of(
      [&] {
        begin = calls == 0 ? Clock::now() : begin;
        ++calls;
      },
      [&] {
        calls_done = calls;
        end = Clock::now();
      });
  unsetenv("FAKE_NVML");
  EXPECT_GT(calls, 1);
  EXPECT_EQ(calls_done, calls);
  EXPECT_NEAR(joules * calls / std::chrono::duration<double>(end - begin).count(), 250, 15);
}

TEST(EnergyMeter, WithoutNvmlSaysWhatIsMissing) {
  const std::string text = testing_errors::error_of(et_schema::ErrorKind::kFailed, [] {
    const EnergyMeter meter("/nowhere/libnvidia-ml.so.1", "", 1);
  });
  EXPECT_NE(text.find("  field:    NVML\n  expected: /nowhere/libnvidia-ml.so.1\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace understudy::calibrator
