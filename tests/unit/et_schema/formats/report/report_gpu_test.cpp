// What a report says of a GPU, written and read again.

#include <gtest/gtest.h>

#include "et_schema/formats/report/report_json.h"
#include "et_schema/model/report.h"
#include "report_samples.h"

namespace understudy::et_schema {
namespace {

TEST(ReportGpu, IsReadAsItWasWritten) {
  RankReport report = sample_rank_report(0);
  report.gpu = sample_gpu_use();
  report.operators.front().device_ms = 5.5;
  report.operators.front().device_samples_ms = {5, 6};
  report.operators.front().recorded_device_ms = 0.0;  // it was known to launch nothing
  const RankReport read = parse_rank_report(to_json(report), "r.json");
  EXPECT_EQ(read.gpu, report.gpu);
  EXPECT_EQ(read.operators.front().device_ms, 5.5);
  EXPECT_EQ(read.operators.front().device_samples_ms, (std::vector<double>{5, 6}));
  EXPECT_EQ(read.operators.front().recorded_device_ms, 0.0);
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
  EXPECT_EQ(json.find("device_samples_ms"), std::string::npos);
  EXPECT_FALSE(parse_rank_report(json, "r.json").gpu.has_value());
}

}  // namespace
}  // namespace understudy::et_schema
