#include "cli/pages/fleet/fleet_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "page_samples.h"

namespace understudy::pages {
namespace {

using Json = nlohmann::ordered_json;

TEST(PageName, IsAPlainFileName) {
  const std::string name = page_name("job", "../ads ranker/\"x\"");
  EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-."), std::string::npos);
  EXPECT_TRUE(name.starts_with("job----ads-ranker--x--"));
  EXPECT_TRUE(name.ends_with(".html"));
}

TEST(PageName, TellsNamesApart) {
  std::set<std::string> names = {page_name("job", "a b"),
                                 page_name("job", "a/b"),
                                 page_name("job", "a-b"),
                                 page_name("joba", "-b"),
                                 page_name("job", std::string(500, 'x')),
                                 page_name("job", std::string(501, 'x'))};
  EXPECT_EQ(names.size(), 6);
  EXPECT_EQ(page_name("job", "a b"), page_name("job", "a b"));
}

TEST(WithinSite, JobsThatHaveAPageAreLinks) {
  Page page;
  page.sections = {
      {"night", "", {Table{.id = "x", .columns = {texts("job")}, .rows = {{"ads"}, {"gone"}}}}}};
  page = within_site(page,
                     {.fleet_name = "fleet.db", .date = {}, .tool_version = {}, .jobs = {"ads"}});
  const Table& table = std::get<Table>(page.sections[0].blocks[0]);
  EXPECT_EQ(std::get<Link>(table.rows[0][0]).href, job_file("ads"));
  EXPECT_EQ(std::get<std::string>(table.rows[1][0]), "gone");
  EXPECT_EQ(page.above.front().href, "index.html");
}

TEST(FleetPage, DataHasEveryJob) {
  const auto data = nlohmann::json::parse(fleet_page(sample_fleet({}, 40), {}, {}).data);
  EXPECT_EQ(data["jobs"].size(), 40);
  EXPECT_EQ(data["jobs"][2]["ms"], 33.25);
  EXPECT_TRUE(data["jobs"][1]["ms"].is_null());  // broken: never replayed
}

TEST(BenchmarkPage, DatesAndNamesTheLastChange) {
  const Page page = benchmark_page(sample_benchmark({}), {});
  EXPECT_EQ(page.verdict.tone, Tone::kBad);
  EXPECT_EQ(page.verdict.sentence,
            "40.95 ms an iteration on a100 in night 30; on a100 30.6 % longer since night 21.");
  EXPECT_NE(
      to_page_json(page).find("Since night 21: 31.35 → 40.85 ms, 30.3 % longer: matmul 20.5 → 30 "
                              "ms. Changed with it: torch 2.10 → 2.11."),
      std::string::npos);
}

TEST(BenchmarkPage, HoldsTheNewestResultAgainstTheLevelBefore) {
  Json data = sample_benchmark({});
  Json& series = data["platforms"][0];
  Json& change = series["changes"][0];
  Json& newest_ms = series["results"].back()["ms"];
  newest_ms = 31.5;  // back, and no night told so
  EXPECT_EQ(benchmark_page(data, {}).verdict.tone, Tone::kGood);
  EXPECT_EQ(
      benchmark_page(data, {}).verdict.sentence,
      "31.50 ms an iteration on a100 in night 30; on a100 as before night 21, which was 30.3 % "
      "longer: 31.35 ms.");
  std::swap(change["before_ms"], change["after_ms"]);
  EXPECT_EQ(benchmark_page(data, {}).verdict.sentence,
            "31.50 ms an iteration on a100 in night 30; on a100 22.9 % shorter since night 21.");
  change["is_recovery"] = true;
  EXPECT_EQ(benchmark_page(data, {}).verdict.tone, Tone::kGood);
  EXPECT_EQ(benchmark_page(data, {}).verdict.sentence,
            "31.50 ms an iteration on a100 in night 30; on a100 22.9 % shorter since night 21, as "
            "before it became slower.");
  newest_ms = 40.7;  // slow again, and no night told so
  EXPECT_EQ(benchmark_page(data, {}).verdict.tone, Tone::kBad);
  data["failing"] = "no memory";
  EXPECT_EQ(benchmark_page(data, {}).verdict.sentence, "Its replay fails: no memory");
}

TEST(BenchmarkPage, WithoutAChangeIsGood) {
  Json data = sample_benchmark({});
  data["platforms"][0]["changes"].clear();
  EXPECT_EQ(benchmark_page(data, {}).verdict.tone, Tone::kGood);
  EXPECT_EQ(benchmark_page(data, {}).verdict.sentence,
            "40.95 ms an iteration on a100 in night 30; no change in 30 results.");
  data["state"] = "unjudged";
  EXPECT_EQ(benchmark_page(data, {}).verdict.tone, Tone::kAttention);
  EXPECT_EQ(benchmark_page(data, {}).verdict.sentence,
            "40.95 ms an iteration on a100 in night 30; not judged against the nights before.");
  Json& results = data["platforms"][0]["results"];
  results = Json::array({Json(results[3])});  // a prediction
  EXPECT_EQ(benchmark_page(data, {}).verdict.tone, Tone::kNeutral);
  EXPECT_EQ(benchmark_page(data, {}).verdict.sentence,
            "31.25 ms an iteration are predicted for a100; it was not replayed yet.");
  data["platforms"].clear();
  EXPECT_EQ(benchmark_page(data, {}).verdict.sentence, "It was not replayed yet.");
  data["broken"] = "the trace is cut off";
  EXPECT_EQ(benchmark_page(data, {}).verdict.tone, Tone::kBad);
  EXPECT_EQ(benchmark_page(data, {}).verdict.sentence,
            "No benchmark could be made of the newest traces: the trace is cut off");
}

TEST(PlatformsPage, RanksAndMarksPredictions) {
  const Page page = platforms_page(sample_platforms({}), {});
  EXPECT_EQ(page.verdict.sentence,
            "h100 is the fastest: 0.610 times a100's time (0.590 … 0.630), probability 99 %, over "
            "3 benchmarks that every platform has.");
  EXPECT_EQ(page.verdict.findings,
            (std::vector<std::string>{"h100: 1 of 3 benchmarks are predicted, not replayed."}));
  fleet::PlatformComparison apart = sample_platforms({});
  apart.common = 0;
  apart.without_common = {"mi300"};
  EXPECT_EQ(platforms_page(apart, {}).verdict.sentence,
            "Which platform is the fastest cannot be said: no benchmark has a time on every one. "
            "Each is held against a100 by what both have.");
  EXPECT_EQ(platforms_page(apart, {}).verdict.findings.back(),
            "Not compared, without a benchmark that a100 has: mi300.");
  fleet::PlatformComparison baseline_first = sample_platforms({});
  std::ranges::reverse(baseline_first.platforms);
  EXPECT_EQ(platforms_page(baseline_first, {}).verdict.sentence,
            "a100 is the fastest, probability 1 %, over 3 benchmarks that every platform has. The "
            "next, h100: 0.610 times its time (0.590 … 0.630).");
  baseline_first.platforms.resize(1);
  EXPECT_EQ(platforms_page(baseline_first, {}).verdict.sentence,
            "Only a100 has results: there is nothing to hold it against.");
  EXPECT_EQ(platform_page(baseline_first, 0, {}).verdict.sentence,
            "The platform that others are held against, with 3 benchmarks.");
  fleet::PlatformComparison none;
  none.baseline = "a100";
  EXPECT_EQ(platforms_page(none, {}).verdict.sentence, "No platform has a result.");
}

TEST(PlatformPage, ShowsAllOfItsBenchmarks) {
  const Page page = platform_page(sample_platforms({}), 0, {});
  EXPECT_EQ(page.verdict.sentence,
            "0.610 times a100's time (0.590 … 0.630), weighted over 3 benchmarks.");
  EXPECT_EQ(page.verdict.tone, Tone::kGood);
  EXPECT_EQ(nlohmann::json::parse(page.data)["benchmark_ratios"].size(), 3);
}

}  // namespace
}  // namespace understudy::pages
