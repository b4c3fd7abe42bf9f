// Counters of a GPU by its driver's library, here one of our own.

#include "gpm.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "testing/error_text.h"

namespace understudy::replayer {
namespace {

using et_schema::Counters;
using testing_errors::told;
using Names = std::vector<std::string>;

constexpr const char* kBus = "0000:10:00.0";
constexpr const char* kInstance = "11112233-4455-6677-8899-aabbccddeeff";

class GpmTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("FAKE_NVML", "gpm", 1); }
  void TearDown() override { unsetenv("FAKE_NVML"); }

  static Counters count(GpmSource& source, const Names& names) {
    EXPECT_EQ(source.prepare(names, 2), 1U);
    source.begin_pass();
    source.begin_range(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.end_range();
    source.end_pass();
    const std::vector<Counters> counted = source.take();
    EXPECT_EQ(counted.size(), 2U);
    EXPECT_TRUE(counted.at(0).empty());
    EXPECT_TRUE(source.take().at(1).empty());
    return counted.at(1);
  }
};

template <typename Call>
std::string refusal(Call call) {
  return testing_errors::error_of(et_schema::ErrorKind::kFailed, [&] { return call(); });
}

TEST_F(GpmTest, ARangeHasTheMeansThatTheDriverReports) {
  GpmSource source(UNDERSTUDY_FAKE_NVML, kBus, "");
  EXPECT_TRUE(source.call_names().empty());
  EXPECT_EQ(source.names(), (Names{"sm_active", "occupancy", "tensor_active", "tensor_fp16_active",
                                   "tensor_fp64_active", "tensor_int_active", "dram_active",
                                   "nvlink_bytes", "pcie_bytes", "power_w", "energy_j"}));
  Counters counted = count(source, source.names());
  // 1 kJ between two readings; 128 MiB/s in both directions.
  EXPECT_EQ(counted.at("energy_j"), 1000);
  const double seconds = 1000 / counted.at("power_w");
  EXPECT_GE(seconds, 0.02);
  EXPECT_NEAR(counted.at("pcie_bytes"), 128.0 * 1024 * 1024 * seconds, 1);
  for (const char* const name : {"energy_j", "power_w", "pcie_bytes"}) {
    counted.erase(name);
  }
  // The GPU counts no NVLink in one direction, and its value of integer products is no number.
  EXPECT_EQ(counted, (Counters{{"sm_active", 0.75},
                               {"occupancy", 0.4},
                               {"tensor_active", 0.44},
                               {"tensor_fp16_active", 0.425},
                               {"tensor_fp64_active", 0.015},
                               {"dram_active", 0.6}}));
}

TEST_F(GpmTest, OnlyWhatWasAskedForIsCounted) {
  GpmSource source(UNDERSTUDY_FAKE_NVML, kBus, "");
  EXPECT_EQ(count(source, {"dram_active", "cycles"}), (Counters{{"dram_active", 0.6}}));
  EXPECT_EQ(source.prepare({"cycles"}, 1), 0U);
}

TEST_F(GpmTest, AnInstanceOfAGpuHasCountersOfItsOwnButNoEnergy) {
  GpmSource source(UNDERSTUDY_FAKE_NVML, kBus, kInstance);
  EXPECT_EQ(source.names().back(), "pcie_bytes");
  EXPECT_EQ(count(source, {"sm_active", "energy_j", "power_w"}), (Counters{{"sm_active", 0.75}}));
}

TEST_F(GpmTest, WhyThereAreNone) {
  unsetenv("FAKE_NVML");
  EXPECT_EQ(refusal([] { return GpmSource(UNDERSTUDY_FAKE_NVML, kBus, "").names(); }),
            told("the GPU's counters (GPM) cannot be read", "field: nvmlGpmQueryDeviceSupport",
                 "expected: success", "got: A Fake GPU is older than Hopper"));
  EXPECT_NE(refusal([] {
              return GpmSource("/no/such.so", kBus, "").names();
            }).find("got:      /no/such.so: cannot open shared object file"),
            std::string::npos);
}

TEST_F(GpmTest, AGpuThatIsLostInARangeIsSaid) {
  setenv("FAKE_NVML", "gpm lost", 1);
  GpmSource source(UNDERSTUDY_FAKE_NVML, kBus, "");
  ASSERT_EQ(source.prepare({"sm_active"}, 1), 1U);
  source.begin_range(0);
  EXPECT_EQ(refusal([&] {
              source.end_range();
              return 0;
            }),
            told("the GPU's counters (GPM) cannot be read", "field: nvmlGpmSampleGet",
                 "expected: success", "got: GPU is lost"));
  EXPECT_EQ(source.take(), std::vector<Counters>(1));
}

}  // namespace
}  // namespace understudy::replayer
