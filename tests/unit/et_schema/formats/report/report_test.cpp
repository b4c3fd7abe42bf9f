// Statistics, merging over ranks and the JSON of a report; what of it must be refused.

#include "et_schema/model/report.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench_refusals.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/report/report_json.h"
#include "report_samples.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::string text_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(IterationStats, KeepsTheOrderOfSamples) {
  const IterationStats stats = iteration_stats({3, 1, 2});
  EXPECT_EQ(stats.samples, (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(stats.min, 1);
  EXPECT_EQ(stats.median, 2);
  EXPECT_DOUBLE_EQ(*stats.p10, 1.2);
  EXPECT_DOUBLE_EQ(*stats.p90, 2.8);
  EXPECT_DOUBLE_EQ(*stats.p99, 2.98);
}

TEST(IterationStats, HasNoFiguresWithoutSamples) {
  const IterationStats stats = iteration_stats({});
  EXPECT_FALSE(stats.min || stats.median || stats.p10 || stats.p90 || stats.p99);
}

TEST(IterationStats, LeavesOutWhatIsNotFinite) {
  const IterationStats stats = iteration_stats({kNan, 4, kInf, 2});
  EXPECT_EQ(stats.min, 2);
  EXPECT_EQ(stats.median, 3);
  EXPECT_EQ(stats.samples.size(), 4U);
}

class ReportRankCounts : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Report, ReportRankCounts, testing::Values(1, 2, 3, 4, 8));

TEST_P(ReportRankCounts, MergeSumsCountsAndTakesTheSlowestAndLargestRank) {
  const int ranks = GetParam();
  const auto number = static_cast<std::uint64_t>(ranks);
  const Report report = sample_report(ranks);
  const RunFigures& total = report.total;
  EXPECT_EQ(report.world_size, ranks);
  EXPECT_EQ(report.ranks.size(), number);
  // Rank r's samples are 10.5 (r+1), 10 (r+1), 12 / (r+1).
  EXPECT_EQ(total.iteration_ms.samples, (std::vector<double>{10.5 * ranks, 10.0 * ranks, 12}));
  EXPECT_EQ(total.iteration_ms.median, ranks == 1 ? 10.5 : 10.0 * ranks);
  EXPECT_EQ(total.coverage.selected, 652 * number);
  EXPECT_EQ(total.coverage.replayed, 650 * number);
  EXPECT_EQ(total.coverage.exact, 640 * number);
  EXPECT_DOUBLE_EQ(*total.coverage.count, 650.0 / 652.0);
  EXPECT_EQ(total.coverage.time, std::nullopt);
  EXPECT_EQ(total.coverage.substituted,
            (std::vector<NamedCount>{
                {"aten::cudnn_batch_norm", 10 * number, "aten::native_batch_norm"}}));
  EXPECT_EQ(total.output_mismatches, 1U);
  EXPECT_EQ(total.mismatches.size(), 1U);
  EXPECT_EQ(total.outputs_checked, 1204 * number);
  EXPECT_EQ(total.values.inf, number * (number - 1) / 2);
  EXPECT_EQ(total.values.subnormal, 3 * number);
  EXPECT_EQ(total.memory.peak_bytes, 1610612736U + number - 1);
  EXPECT_EQ(total.memory.live_peak_bytes, 1048576U);
  EXPECT_EQ(total.host_overhead_ns_per_operator, 120.25 + ranks - 1);
  EXPECT_EQ(total.losses.at("aliases"), 5 * number);
  EXPECT_EQ(total.losses.at("missing_nodes"), number * (number + 1) / 2);
  EXPECT_EQ(total.operators.front().name, "aten::mm");
  EXPECT_EQ(total.operators.front().count, 12 * number);
  EXPECT_EQ(total.operators.front().ms, 6.25 + ranks - 1);
  EXPECT_EQ(total.collectives.front().count, 3 * number);
  EXPECT_EQ(total.collectives.front().median_us, 250.5 * ranks);
  EXPECT_EQ(total.first_iteration_ms, 95.25 + ranks - 1);
}

TEST_P(ReportRankCounts, ReportsAreReadAsTheyWereWritten) {
  const std::string json = to_json(sample_report(GetParam()));
  EXPECT_EQ(to_json(parse_report(json, "report.json")), json);
}

TEST(Merge, SortsRanksAndRowsByCount) {
  RankReport a = sample_rank_report(1);
  RankReport b = sample_rank_report(0);
  a.coverage.dropped = {{"x", 1, "r"}, {"y", 5, "r"}};
  b.coverage.dropped = {{"x", 2, "r"}, {"x", 4, "other"}};
  const Report report = merge({a, b}, {}, {});
  EXPECT_EQ(report.ranks[0].rank, 0);
  EXPECT_EQ(report.total.coverage.dropped,
            (std::vector<NamedCount>{{"y", 5, "r"}, {"x", 4, "other"}, {"x", 3, "r"}}));
}

TEST(Merge, KnowsCoverageOnlyWhereThereIsSome) {
  RankReport none;
  EXPECT_EQ(merge({none}, {}, {}).total.coverage.count, std::nullopt);
  RankReport known;
  known.coverage.time = 0.75;
  RankReport better;
  better.coverage.time = 0.9;
  EXPECT_EQ(merge({known, better}, {}, {}).total.coverage.time, 0.75);
  known.coverage.other_time = {{"opened operators", 0.25}};
  better.coverage.other_time = {{"graph launch", 0.1}};
  EXPECT_EQ(merge({better, known}, {}, {}).total.coverage.other_time, known.coverage.other_time)
      << "of the rank with the lowest coverage";
  EXPECT_TRUE(merge({better, none}, {}, {}).total.coverage.other_time.empty());
  known.coverage.device_time = {{"matmul", "replayed", 3, 0.75}, {"copy", "stub", 1, 0.25}};
  better.coverage.device_time = {{"matmul", "replayed", 4, 1}};
  EXPECT_EQ(
      merge({better, known}, {}, {}).total.coverage.device_time,
      (std::vector<DeviceTime>{{"matmul", "replayed", 7, 0.875}, {"copy", "stub", 1, 0.125}}));
  EXPECT_EQ(merge({known, none}, {}, {}).total.coverage.time, std::nullopt);
  EXPECT_EQ(merge({none, known}, {}, {}).total.coverage.time, std::nullopt);
}

TEST(Merge, TakesTheHighestShareOfTimeThatWasNotReplayedAsRecorded) {
  RankReport none;
  RankReport known;
  known.coverage.substituted_time = 0.25;
  known.coverage.dropped_time = 0;
  RankReport worse;
  worse.coverage.substituted_time = 0.125;
  worse.coverage.dropped_time = 0.5;
  const Report report = merge({known, worse}, {}, {});
  EXPECT_EQ(report.total.coverage.substituted_time, 0.25);
  EXPECT_EQ(report.total.coverage.dropped_time, 0.5);
  EXPECT_EQ(merge({known, none}, {}, {}).total.coverage.dropped_time, std::nullopt);
  const Report read = parse_report(to_json(report), "report.json");
  EXPECT_EQ(read.ranks[1].coverage.substituted_time, 0.125);
  EXPECT_EQ(read.ranks[1].coverage.dropped_time, 0.5);
}

TEST(Merge, MakesOneRowOfCollectivesWithUnevenParts) {
  RankReport a;
  a.collectives = {{"all_to_allv", "world", 1, 100, 2, 10.0, 1.0, 0.5},
                   {"allreduce", "world", 1, 100, 2, 10.0, 1.0, 1.0}};
  RankReport b;
  b.rank = 1;
  b.collectives = {{"all_to_allv", "world", 1, 300, 2, 30.0, 3.0, 1.5},
                   {"allreduce", "world", 1, 200, 2, 10.0, 1.0, 1.0}};
  const std::vector<CollectiveTime> merged = merge({a, b}, {}, {}).total.collectives;
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_EQ(merged[0].name, "all_to_allv");
  EXPECT_EQ(merged[0].count, 2U);
  EXPECT_EQ(merged[0].bytes, 300U);
  EXPECT_EQ(merged[0].median_us, 30.0);
  EXPECT_EQ(merged[0].busbw_gb_per_s, 1.5);
  EXPECT_EQ(merged[1].bytes, 100U);
  EXPECT_EQ(merged[2].bytes, 200U);
}

TEST(Merge, CountsIterationsThatAllRanksMade) {
  RankReport longer;
  longer.iteration_ms = iteration_stats({1, 2, 3});
  RankReport shorter;
  shorter.iteration_ms = iteration_stats({5, 1});
  EXPECT_EQ(merge({longer, shorter}, {}, {}).total.iteration_ms.samples,
            (std::vector<double>{5, 2}));
}

TEST(ReportJson, IsTheGoldenFile) {
  const std::filesystem::path golden =
      std::filesystem::path(UNDERSTUDY_TEST_DATA) / "report_2_ranks.json";
  EXPECT_EQ(to_json(sample_report(2)), text_in(golden))
      << "if the format was meant to change, see the rule of versions in docs/formats.md";
}

TEST(ReportJson, WritesNullForWhatIsNotFinite) {
  RankReport rank;
  rank.iteration_ms = iteration_stats({kInf});
  rank.host_overhead_ns_per_operator = kNan;
  rank.coverage.count = kInf;
  rank.operators = {{"aten::mm", "matmul", 1, kNan}};
  rank.collectives = {{"send", "world", 1, 4, 2, kInf, kNan, -kInf}};
  const std::string json = to_json(merge({rank}, {}, {}));
  EXPECT_EQ(to_json(parse_report(json, "report.json")), json);
  const auto parsed = nlohmann::json::parse(json)["ranks"][0];
  EXPECT_TRUE(parsed["iteration_ms"]["samples"][0].is_null());
  EXPECT_TRUE(parsed["iteration_ms"]["min"].is_null());
  EXPECT_TRUE(parsed["host_overhead_ns_per_operator"].is_null());
  EXPECT_TRUE(parsed["coverage"]["count"].is_null());
  EXPECT_TRUE(parsed["operators"][0]["ms"].is_null());
  EXPECT_TRUE(parsed["collectives"][0]["busbw_gb_per_s"].is_null());
}

TEST(ReportJson, ReplacesBytesThatAreNotUtf8) {
  Environment environment;
  environment.cpu_model = "CPU \xff";
  const std::string json = to_json(merge({RankReport()}, {}, environment));
  EXPECT_EQ(parse_report(json, "report.json").environment.cpu_model, "CPU \xef\xbf\xbd");
}

TEST(RankReportJson, IsReadAsItWasWrittenOnOneLine) {
  const std::string json = to_json(sample_rank_report(3));
  EXPECT_EQ(json.find('\n'), std::string::npos);
  const RankReport read = parse_rank_report(json, "rank 3");
  EXPECT_EQ(read.rank, 3);
  EXPECT_EQ(to_json(read), json);
}

// ---- refusals

std::string refused_report(const std::function<void(nlohmann::json&)>& change) {
  auto json = nlohmann::json::parse(to_json(sample_report(2)));
  change(json);
  return refusal_by([&json] { (void)parse_report(json.dump(), "report.json"); });
}

std::string unreadable_report(const std::string& field, const std::string& expected,
                              const std::string& got) {
  return to_text(bad_input("the report cannot be read",
                           {.file = "report.json",
                            .field = field,
                            .expected = expected,
                            .got = got,
                            .hint = "make the report again with `replay --report`"}));
}

TEST(ReportRefusal, NotJson) {
  EXPECT_EQ(refusal_by([] { (void)parse_report("{\"format\":", "report.json"); }),
            unreadable_report("", "JSON", "no JSON from byte 11"));
  EXPECT_EQ(refusal_by([] { (void)parse_report("", "report.json"); }),
            unreadable_report("", "JSON", "an empty file"));
}

TEST(ReportRefusal, NamesWithControlCharacters) {
  EXPECT_EQ(refused_report([](auto& json) { json["operators"][0]["name"] = "a\x1b[2J\n"; }),
            unreadable_report("operators[0].name", "a text without control characters",
                              "a\\u001b[2J\\u000a"));
  EXPECT_EQ(
      refused_report([](auto& json) { json["environment"]["settings"]["a\u009b"] = "b"; }),
      unreadable_report("environment.settings", "keys without control characters", "a\\u009b"));
}

TEST(ReportRefusal, TextsOfLibrariesAreReadAsTheyAre) {
  auto json = nlohmann::json::parse(to_json(sample_report(1)));
  json["warnings"] = {{{"figure", "values.nan"}, {"text", "a\x1b\nb"}}};
  EXPECT_EQ(parse_report(json.dump(), "report.json").warnings[0].text, "a\x1b\nb");
}

TEST(ReportRefusal, NestedTooDeep) {
  EXPECT_EQ(refusal_by([] { (void)parse_report(std::string(100000, '['), "report.json"); }),
            unreadable_report("", "values nested at most 64 deep", "deeper ones"));
}

TEST(ReportRefusal, AnotherFormat) {
  EXPECT_EQ(refused_report([](auto& json) { json["format"] = "understudy-bench"; }),
            unreadable_report("format", "\"understudy-report\"", "\"understudy-bench\""));
  EXPECT_EQ(refused_report([](auto& json) {
              json = {{"traceEvents", 1}};
            }),
            unreadable_report("format", "this key", "none"));
  EXPECT_EQ(refused_report([](auto& json) { json = nlohmann::json::array(); }),
            unreadable_report("", "an object", "[]"));
}

TEST(ReportRefusal, ANewerVersion) {
  EXPECT_EQ(refused_report([](auto& json) {
              json["version"] = 3;
              json["environment"]["tool_version"] = "3.1.0";
            }),
            told("the report is of another version than this program reads", "file: report.json",
                 "field: version", "expected: version 1, which Understudy 0.1.0 reads",
                 "got: version 3, written by Understudy 3.1.0",
                 "hint: use that version of Understudy, or make the report again "
                 "with this one"));
}

TEST(ReportRefusal, AMissingField) {
  EXPECT_EQ(refused_report([](auto& json) { json["ranks"][1]["memory"].erase("peak_bytes"); }),
            unreadable_report("ranks[1].memory.peak_bytes", "this key", "none"));
}

TEST(ReportRefusal, AFieldOfAnotherType) {
  EXPECT_EQ(refused_report([](auto& json) { json["outputs_checked"] = -1; }),
            unreadable_report("outputs_checked", "a non-negative integer of 64 bits", "-1"));
  EXPECT_EQ(refused_report([](auto& json) { json["iteration_ms"]["samples"][1] = "fast"; }),
            unreadable_report("iteration_ms.samples[1]", "a number or null", "\"fast\""));
  EXPECT_EQ(refused_report([](auto& json) { json["ranks"][0]["rank"] = 1e10; }),
            unreadable_report("ranks[0].rank", "an integer of 64 bits", "10000000000.0"));
}

TEST(ReportRefusal, AWorldSizeThatIsNotTheNumberOfRanks) {
  EXPECT_EQ(refused_report([](auto& json) { json["world_size"] = 3; }),
            unreadable_report("world_size", "2, the number of ranks listed", "3"));
}

}  // namespace
}  // namespace understudy::et_schema
