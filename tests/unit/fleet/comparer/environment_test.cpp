#include "fleet/comparer/environment.h"

#include <gtest/gtest.h>

#include "testing/error_text.h"

namespace understudy::comparer {
namespace {

Run run(const std::string& file) {
  Run made;
  made.file = file;
  made.environment.benchmark = "bench.et";
  made.environment.benchmark_hash = "0123456789abcdef";
  made.environment.device = "cpu";
  made.environment.threads = 1;
  made.environment.date_utc = "2026-01-31T12:00:00Z";
  made.environment.versions = {{"torch", "2.11.0"}};
  made.environment.settings = {{"iterations", "30"}};
  made.rows = {{RowKind::kOperator, "aten::mm", "matmul", 2, {1.0}}};
  return made;
}

std::string refusal(const Run& a, const Run& b) {
  return error_of([&] { return refuse_different_benchmarks({a}, {b}); });
}

TEST(Environment, OfLikeRunsDiffersInNothing) {
  comparer::Run later = run("b.json");
  later.environment.date_utc = "2026-02-01T12:00:00Z";
  EXPECT_TRUE(environment_differences({run("a.json")}, {later}).empty());
}

TEST(Environment, DifferencesStandByWeight) {
  comparer::Run other = run("b.json");
  other.environment.threads = 2;
  other.environment.settings = {{"iterations", "60"}, {"slow", "matmul:3"}};
  other.pace = "recorded";
  const auto differences = environment_differences({run("a.json")}, {other});
  ASSERT_EQ(differences.size(), 4U);
  EXPECT_EQ(differences[0].field, "pace");
  EXPECT_EQ(differences[0].a, "asap");
  EXPECT_EQ(differences[0].b, "recorded");
  EXPECT_EQ(differences[0].weight, Weight::kOther);
  EXPECT_EQ(differences[1].field, "threads");
  EXPECT_EQ(differences[2].field, "settings.slow");
  EXPECT_EQ(differences[2].a, "–");
  EXPECT_EQ(differences[2].weight, Weight::kVersion);
  EXPECT_EQ(differences[3].field, "settings.iterations");
  EXPECT_EQ(differences[3].weight, Weight::kIncident);
}

TEST(Environment, OfAPredictionTellsWhatItHas) {
  comparer::Run prediction = run("p.json");
  prediction.is_prediction = true;
  prediction.environment.device.clear();
  prediction.environment.threads = 0;
  prediction.environment.settings = {{"costs", "predicted"}};
  const auto differences = environment_differences({run("a.json")}, {prediction});
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].field, "source");
  EXPECT_EQ(differences[0].a, "a replay");
  EXPECT_EQ(differences[0].b, "a prediction");
  EXPECT_EQ(differences[0].weight, Weight::kOther);
  comparer::Run other = prediction;
  other.environment.settings["costs"] = "others";
  EXPECT_EQ(environment_differences({prediction}, {other}).front().field, "settings.costs");
}

TEST(Environment, RunsOfOneSideThatDifferAreTold) {
  comparer::Run other = run("a2.json");
  other.environment.threads = 4;
  const auto differences = environment_differences({run("a.json"), other}, {run("b.json")});
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].a, "1, 4");
  EXPECT_EQ(differences[0].b, "1");
}

TEST(Environment, RefusesOtherRanks) {
  comparer::Run larger = run("b.json");
  larger.world_size = 8;
  EXPECT_EQ(refusal(run("a.json"), larger),
            told("the runs are not of one benchmark", "file: b.json", "field: world_size",
                 "expected: 1, as in a.json", "got: 8",
                 "hint: --different-benchmarks compares them all the same"));
}

TEST(Environment, WithoutAHashTheOperatorsTell) {
  comparer::Run old = run("old.json");
  old.environment.benchmark_hash.clear();
  EXPECT_EQ(refusal(old, run("b.json")), "no error");
  old.rows[0].count = 3;
  EXPECT_EQ(
      refusal(old, run("b.json")),
      told("the runs are not of one benchmark", "file: b.json", "field: operators",
           "expected: the same operators, called as often (bench.et), as in old.json",
           "got: others (bench.et)", "hint: --different-benchmarks compares them all the same"));
}

TEST(Environment, AProfileFitsAnyBenchmark) {
  comparer::Run profile;
  profile.file = "p.json";
  profile.is_profile = true;
  EXPECT_EQ(refusal(run("a.json"), profile), "no error");
  const auto differences = environment_differences({run("a.json")}, {profile});
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].field, "source");
  EXPECT_EQ(differences[0].weight, Weight::kOther);
}

}  // namespace
}  // namespace understudy::comparer
