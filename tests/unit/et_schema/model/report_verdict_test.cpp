#include "et_schema/model/report_verdict.h"

#include <gtest/gtest.h>

namespace understudy::et_schema {
namespace {

/// A report that nothing speaks against.
Report clean_report() {
  RankReport rank;
  rank.iteration_ms = iteration_stats({30, 31, 32, 31, 30, 31, 32, 31});
  rank.coverage.selected = rank.coverage.replayed = rank.coverage.exact = 1241;
  rank.coverage.count = 1;
  rank.original.step_ms = 31;
  Report report = merge({rank}, {}, {});
  report.warnings.clear();
  return report;
}

TEST(ReportVerdict, OfACleanReplayIsGood) {
  const Assessment verdict = verdict_of(clean_report());
  EXPECT_EQ(verdict.tone, Tone::kGood);
  EXPECT_EQ(verdict.sentence,
            "An iteration takes 31.00 ms (95 % interval of the median: 30.00 … 32.00), 1.000 times "
            "the original's 31.00 ms (without its host's gaps); all 1,241 operators were replayed "
            "as recorded; nothing speaks against these figures.");
  EXPECT_TRUE(verdict.findings.empty());
}

TEST(ReportVerdict, SaysFirstThatTheProfilerDisturbedTheOriginal) {
  Report report = clean_report();
  report.total.original.unprofiled_ms = 30;
  EXPECT_EQ(verdict_of(report).sentence.find("disturbed"), std::string::npos);
  report.total.original.step_ms = 240;
  EXPECT_NE(verdict_of(report).sentence.find(
                "1.033 times the original's 30.00 ms (without its host's gaps); the profiler "
                "disturbed the step: 240.0 ms, 8 times the unprofiled 30.00; all 1,241"),
            std::string::npos)
      << verdict_of(report).sentence;
}

TEST(ReportVerdict, NamesWhatIsWrong) {
  Report report = clean_report();
  Coverage& coverage = report.total.coverage;
  coverage.exact = coverage.replayed = 1238;
  coverage.count = 1238.0 / 1241.0;
  coverage.dropped = {{"my::op", 2, "no such operator"}};
  coverage.stubbed = {{"kernel", 1, "a copy of the same bytes"}};
  report.total.output_mismatches = 4;
  report.total.outputs_checked = 2000;
  report.total.values = {1, 0, 2, 7};
  report.warnings = {{"iteration_ms", "others used 1.0 of the 2 CPUs"}};
  const Assessment verdict = verdict_of(report);
  EXPECT_EQ(verdict.tone, Tone::kAttention);
  EXPECT_EQ(verdict.findings,
            (std::vector<std::string>{
                "2 operators were dropped: my::op (no such operator).",
                "1 operator was stubbed: kernel (a copy of the same bytes).",
                "4 of 2,000 outputs differ from the recorded shape, dtype or stride.",
                "1 tensor holds NaN: the step computes with other numbers than the original, "
                "unless that had NaN too.",
                "Values that change timings: 0 tensors with infinities, 2 with subnormal numbers.",
                "Others used 1.0 of the 2 CPUs."}));
  EXPECT_NE(
      verdict.sentence.find("99.76 % of 1,241 operators were replayed, 1,238 of them as recorded;"
                            " 6 things to know."),
      std::string::npos);
}

TEST(ReportVerdict, TellsLostTimeFirst) {
  Report report = clean_report();
  report.total.coverage.dropped_time = 0.04;
  report.total.coverage.other_time = {
      {"between operators", 0.5}, {"graph launch", 0.2}, {"opened operators", 0.02}};
  report.total.operators = {{"aten::mm", "matmul", 1, 0.9, {}, 4.0},          // too fast
                            {"aten::bmm", "matmul", 1, 1.1, {}, 4.0},         // a faster machine
                            {"aten::add", "elementwise", 1, 0.01, {}, 0.5}};  // of no weight
  EXPECT_EQ(verdict_of(report).findings,
            (std::vector<std::string>{
                "4.00 % of the step's recorded time is in operators that were dropped or stubbed.",
                "20.00 % of the step's recorded time is replayed by nothing: graph launch.",
                "aten::mm takes 0.900 ms, less than a quarter of the recorded 4.000."}));
}

TEST(ReportVerdict, OfAnInterruptedReplayIsBad) {
  Report report = clean_report();
  report.total.complete = false;
  report.total.measurement.ended_by = "SIGINT";
  report.total.measurement.timing_passes = 1;
  const Assessment verdict = verdict_of(report);
  EXPECT_EQ(verdict.tone, Tone::kBad);
  EXPECT_EQ(verdict.findings, (std::vector<std::string>{"Not complete: ended by SIGINT after 8 "
                                                        "iterations and 1 timing pass."}));
}

TEST(ReportVerdict, WithoutIterationsSaysSo) {
  Report report = clean_report();
  report.total.iteration_ms = {};
  EXPECT_EQ(verdict_of(report).tone, Tone::kBad);
  EXPECT_EQ(verdict_of(report).sentence.find("No iteration was measured; "), 0);
}

TEST(ReportVerdict, OfAPartHasNoRatioToTheWhole) {
  Report report = clean_report();
  report.filters = {"--only compute"};
  EXPECT_EQ(verdict_of(report).sentence.find("times the original"), std::string::npos);
}

}  // namespace
}  // namespace understudy::et_schema
