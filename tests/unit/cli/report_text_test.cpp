// The text and the csv of reports against whole golden files.

#include "report_text/report_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "report_samples.h"

namespace understudy::cli {
namespace {

std::string golden(const std::string& name) {
  std::ifstream file(std::filesystem::path(UNDERSTUDY_TEST_DATA) / name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReportText, OfTwoRanks) {
  EXPECT_EQ(report_to_text(et_schema::sample_report(2)), golden("report_2_ranks.txt"));
}

TEST(ReportText, OfAGpu) {
  et_schema::Report report = et_schema::sample_report(2);
  et_schema::GpuUse& gpu = report.ranks[0].gpu.emplace();
  gpu.memory = {1U << 30U, 1U << 30U, 3U << 29U, 100, 12, 0, 0};
  et_schema::GpuHealth& health = gpu.health.emplace();
  health.name = "A GPU";
  health.before.sm_clock_mhz = 1980;
  health.after.sm_clock_mhz = 1755;
  health.before.temperature_c = 61;
  health.after.temperature_c = 61;
  health.energy_j = 8000;
  health.mean_power_w = 640.5;
  health.warnings = {"the SM clock moved from 1980 to 1755 MHz while measuring"};
  report.ranks[1].gpu.emplace().no_health = "no NVML";
  const std::string text = report_to_text(report);
  const std::size_t begin = text.find("GPU, over");
  EXPECT_EQ(text.substr(begin, text.find("\n\n", begin) - begin),
            "GPU, over the measured iterations\n"
            "  rank  GPU         SM MHz  °C  mean W     J     peak  reserved  driver allocations\n"
            "     0  A GPU  1980 → 1755  61   640.5  8000  1.0 GiB   1.5 GiB                  12\n"
            "     1  –                –   –       –     –      0 B       0 B                   0\n"
            "  WARNING rank 0: the SM clock moved from 1980 to 1755 MHz while measuring\n"
            "  rank 1: no NVML");
}

TEST(ReportText, OfOneRank) {
  EXPECT_EQ(report_to_text(et_schema::sample_report(1)), golden("report_1_rank.txt"));
}

TEST(ReportText, IsMadeFromTheFileAlone) {
  const et_schema::Report report = et_schema::sample_report(3);
  const et_schema::Report read = et_schema::parse_report(et_schema::to_json(report), "report.json");
  EXPECT_EQ(report_to_text(read), report_to_text(report));
  EXPECT_EQ(report_to_csv(read), report_to_csv(report));
}

TEST(ReportText, ShowsAsManyOperatorsAsAskedFor) {
  ReportTextOptions options;
  options.top_operators = 1;
  const std::string text = report_to_text(et_schema::sample_report(1), options);
  EXPECT_NE(text.find("Top 1 of 3 operators, an iteration\n"), std::string::npos);
  EXPECT_EQ(text.find("aten::relu"), std::string::npos);
}

TEST(ReportText, OfNothingLeavesOutWhatIsEmpty) {
  EXPECT_EQ(report_to_text(et_schema::merge({et_schema::RankReport()}, {}, {})),
            R"(Replay: 1 rank

Iteration time, ms (0 iterations)
  min  p10  median  p90  p99
    –    –       –    –    –

Coverage: 0 of 0 selected operators replayed, –
  0  exact
  0  substituted by an equivalent
  0  stubbed: the same bytes in the same time, not counted as replayed
  0  dropped
  0  not applicable to this target (not among the selected)

Memory
  0 B  peak of all tensors
  0 B  peak of intermediates by their lifetimes
  0 B  externals, as far as touched

Checks
  0  of 0 outputs differ from the recorded shape, dtype or stride
  0  tensors with NaN
  0  tensors with infinities
  0  tensors with subnormal numbers
)");
}

TEST(ReportText, HasColourOnlyIfAskedFor) {
  const et_schema::Report report = et_schema::sample_report(1);
  ReportTextOptions options;
  EXPECT_EQ(report_to_text(report, options).find('\x1b'), std::string::npos);
  options.colour = true;
  const std::string text = report_to_text(report, options);
  EXPECT_NE(text.find("\x1b[1mMemory\x1b[0m\n"), std::string::npos);
}

TEST(ReportCsv, OfTwoRanks) {
  EXPECT_EQ(report_to_csv(et_schema::sample_report(2)), golden("report_2_ranks.csv"));
}

TEST(ReportCsv, LeavesWhatIsNotKnownEmpty) {
  const std::string csv = report_to_csv(et_schema::merge({et_schema::RankReport()}, {}, {}));
  EXPECT_NE(csv.find("all,coverage,,,by_count,\n"), std::string::npos);
  EXPECT_EQ(csv.find("nan,nan"), std::string::npos);
}

}  // namespace
}  // namespace understudy::cli
