// Energy of calls by a driver's library of our own: each reading of it is 1,000 J more.
#include "energy_meter.h"

#include <gtest/gtest.h>

#include "et_schema/support/error.h"

namespace understudy::calibrator {
namespace {

TEST(EnergyMeter, SharesTheEnergyAmongTheCallsMeanwhile) {
  constexpr double kSeconds = 0.01;
  const EnergyMeter meter(UNDERSTUDY_FAKE_NVML, "0000:3b:00.0", kSeconds);
  int calls = 0;
  int calls_done = 0;
  const double joules = meter.joules_of([&] { ++calls; }, [&] { calls_done = calls; });
  EXPECT_GT(calls, 1);
  EXPECT_EQ(calls_done, calls);
  EXPECT_DOUBLE_EQ(joules, 1000.0 / calls);
}

TEST(EnergyMeter, WithoutNvmlSaysWhatIsMissing) {
  try {
    const EnergyMeter meter("/nowhere/libnvidia-ml.so.1", "", 1);
    ADD_FAILURE() << "it was loaded";
  } catch (const et_schema::Error& error) {
    EXPECT_EQ(error.kind(), et_schema::ErrorKind::kFailed);
    EXPECT_EQ(error.context().field, "NVML");
    EXPECT_EQ(error.context().expected, "/nowhere/libnvidia-ml.so.1");
  }
}

}  // namespace
}  // namespace understudy::calibrator
