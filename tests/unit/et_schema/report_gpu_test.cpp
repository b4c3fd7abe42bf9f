// What a report says of a GPU, written and read again.

#include <gtest/gtest.h>

#include "et_schema/report.h"
#include "report_samples.h"

namespace understudy::et_schema {
namespace {

GpuUse sample_gpu() {
  GpuUse gpu;
  gpu.memory = {1, 2, 3, 4, 5, 6, 7};
  GpuHealth health;
  health.name = "A GPU";
  health.driver_version = "580.1";
  health.before = {100.5, 700, 1000, 1980, 1980, 2619, 40, {}};
  health.after = {650.25, 700, 9000, 1755, 1980, {}, 61, {"sw_power_cap"}};
  health.energy_j = 8000;
  health.mean_power_w = 640.5;
  health.warnings = {"the SM clock moved"};
  gpu.health = health;
  return gpu;
}

TEST(ReportGpu, IsReadAsItWasWritten) {
  RankReport report = sample_rank_report(0);
  report.gpu = sample_gpu();
  report.operators.front().device_ms = 5.5;
  const RankReport read = parse_rank_report(to_json(report), "r.json");
  EXPECT_EQ(read.gpu, report.gpu);
  EXPECT_EQ(read.operators.front().device_ms, 5.5);
}

TEST(ReportGpu, MayHaveNoHealth) {
  RankReport report = sample_rank_report(0);
  report.gpu = GpuUse{{}, {}, "no NVML"};
  EXPECT_EQ(parse_rank_report(to_json(report), "r.json").gpu, report.gpu);
}

TEST(ReportGpu, OfTheCpuThereIsNone) {
  const std::string json = to_json(sample_rank_report(0));
  EXPECT_EQ(json.find("\"gpu\""), std::string::npos);
  EXPECT_EQ(json.find("\"device_ms\""), std::string::npos);
  EXPECT_FALSE(parse_rank_report(json, "r.json").gpu.has_value());
}

}  // namespace
}  // namespace understudy::et_schema
