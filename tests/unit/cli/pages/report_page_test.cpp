#include "cli/pages/report/report_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "et_schema/formats/report/report_json.h"
#include "report_samples.h"

namespace understudy::pages {
namespace {

using et_schema::Report;

/// A report that nothing speaks against.
Report clean_report() {
  et_schema::RankReport rank;
  rank.iteration_ms = et_schema::iteration_stats({30, 31, 32, 31, 30, 31, 32, 31});
  rank.coverage.selected = 1241;
  rank.coverage.replayed = 1241;
  rank.coverage.exact = 1241;
  rank.coverage.count = 1;
  rank.original.step_ms = 31;
  et_schema::Environment environment;
  environment.benchmark = "bench.et";
  Report report = et_schema::merge({rank}, {}, environment);
  report.warnings.clear();
  return report;
}

TEST(ReportVerdict, OfACleanReplayIsGood) {
  const Page page = report_page(clean_report());
  EXPECT_EQ(page.tone, Tone::kGood);
  EXPECT_EQ(page.verdict,
            "An iteration takes 31.00 ms (95 % interval of the median: 30.00 … 32.00), 1.000 times "
            "the original's 31.00 ms (without its host's gaps); all 1,241 operators were replayed "
            "as recorded; nothing speaks against these figures.");
  EXPECT_TRUE(page.findings.empty());
}

TEST(ReportVerdict, NamesWhatIsWrong) {
  Report report = clean_report();
  et_schema::Coverage& coverage = report.total.coverage;
  coverage.exact = 1238;
  coverage.replayed = 1238;
  coverage.count = 1238.0 / 1241.0;
  coverage.dropped = {{"my::op", 2, "no such operator"}};
  coverage.stubbed = {{"kernel", 1, "a copy of the same bytes"}};
  report.total.output_mismatches = 4;
  report.total.outputs_checked = 2000;
  report.total.values = {1, 0, 2, 7};
  report.warnings = {{"iteration_ms", "others used 1.0 of the 2 CPUs"}};
  const Page page = report_page(report);
  EXPECT_EQ(page.tone, Tone::kAttention);
  EXPECT_EQ(page.findings,
            (std::vector<std::string>{
                "2 operators were dropped: my::op (no such operator).",
                "1 operator was stubbed: kernel (a copy of the same bytes).",
                "4 of 2,000 outputs differ from the recorded shape, dtype or stride.",
                "1 tensor holds NaN: the step computes with other numbers than the original, "
                "unless that had NaN too.",
                "Values that change timings: 0 tensors with infinities, 2 with subnormal numbers.",
                "Others used 1.0 of the 2 CPUs."}));
  EXPECT_NE(page.verdict.find("99.76 % of 1,241 operators were replayed, 1,238 of them as recorded;"
                              " 6 things to know."),
            std::string::npos);
}

TEST(ReportVerdict, OfAnInterruptedReplayIsBad) {
  Report report = clean_report();
  report.total.complete = false;
  report.total.measurement.ended_by = "SIGINT";
  report.total.measurement.timing_passes = 1;
  const Page page = report_page(report);
  EXPECT_EQ(page.tone, Tone::kBad);
  EXPECT_EQ(page.findings, (std::vector<std::string>{"Not complete: ended by SIGINT after 8 "
                                                     "iterations and 1 timing pass."}));
}

TEST(ReportVerdict, WithoutIterationsSaysSo) {
  Report report = clean_report();
  report.total.iteration_ms = {};
  const Page page = report_page(report);
  EXPECT_EQ(page.tone, Tone::kBad);
  EXPECT_EQ(page.verdict.find("No iteration was measured; "), 0);
}

TEST(ReportVerdict, OfAPartHasNoRatioToTheWhole) {
  Report report = clean_report();
  report.filters = {"--only compute"};
  EXPECT_EQ(report_page(report).verdict.find("times the original"), std::string::npos);
}

TEST(ReportPage, DataIsTheReportWithoutWhatNothingShows) {
  const Report report = et_schema::sample_report(2);
  auto expected = nlohmann::json::parse(et_schema::to_json(report));
  const auto drop = [](nlohmann::json& part) {
    for (auto& row : part["operators"]) {
      row.erase("samples_ms");
    }
    for (auto& row : part["collectives"]) {
      row.erase("samples_us");
      row.erase("moving_samples_us");
    }
  };
  drop(expected);
  for (auto& rank : expected["ranks"]) {
    rank.erase("operators");
    rank.erase("collectives");
  }
  EXPECT_EQ(nlohmann::json::parse(report_page(report).data), expected);
}

TEST(ReportPage, IsMadeFromTheFileAlone) {
  const Report report = et_schema::sample_report(3);
  const Report read = et_schema::parse_report(et_schema::to_json(report), "report.json");
  EXPECT_EQ(to_html(report_page(read)), to_html(report_page(report)));
}

TEST(ReportPage, ClassesWithPartlyRecordedTimesHaveNone) {
  const Page page = report_page(et_schema::sample_report(1));
  const auto section = std::ranges::find(page.sections, "classes", &Section::id);
  ASSERT_NE(section, page.sections.end());
  const std::vector<Cell> row = std::get<Table>(section->blocks.at(0)).rows.at(0);
  // aten::bmm has no recorded time, aten::mm has: nothing is known of matmul.
  EXPECT_EQ(std::get<std::string>(row[0]), "matmul");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(row[2]));
}

}  // namespace
}  // namespace understudy::pages
