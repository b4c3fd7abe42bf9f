#include "fleet/analysis/selection.h"

#include <gtest/gtest.h>

#include <cmath>

#include "et_schema/base/error.h"
#include "fleet/analysis/numerics.h"
#include "testing/error_text.h"

namespace understudy::fleet {
namespace {

/// Jobs of three kinds, whose speed on a platform follows from their classes.
std::vector<Candidate> fleet_of(std::size_t count) {
  Random random(7);
  std::vector<Candidate> fleet;
  for (std::size_t i = 0; i < count; ++i) {
    Candidate job;
    job.job = "job" + std::to_string(i);
    job.benchmark_hash = "h" + std::to_string(i);
    job.weight = 0.5 + random.uniform();
    job.cost_s = 60;
    const double matmul = 0.2 + 0.3 * static_cast<double>(i % 3) + 0.02 * random.normal();
    const double embedding = (1 - matmul) * (i % 2 == 0 ? 0.7 : 0.3);
    job.class_share = {
        {"matmul", matmul}, {"embedding", embedding}, {"elementwise", 1 - matmul - embedding}};
    job.features = {{"memory", random.normal()}, {"shapes", random.normal()}};
    const double ratio = 0.3 * matmul + 0.9 * embedding + 0.6 * (1 - matmul - embedding);
    job.platform_ms = {{"old", 10}, {"new", 10 * ratio * std::exp(0.01 * random.normal())}};
    fleet.push_back(std::move(job));
  }
  return fleet;
}

TEST(Selections, StandForTheFleetOnPlatformsThatWereNotLookedAt) {
  const Selection selection =
      select_jobs(fleet_of(60), {.most_jobs = 6, .baseline = "old", .seed = 3});
  EXPECT_EQ(selection.jobs.size(), 6U);
  double sum = 0;
  for (const SelectedJob& job : selection.jobs) {
    sum += job.weight;
    EXPECT_LE(job.low, job.weight + 0.2);
    EXPECT_GE(job.high, job.low);
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  ASSERT_EQ(selection.checks.size(), 1U);
  EXPECT_FALSE(selection.checks[0].was_chosen_on);
  EXPECT_LT(selection.checks[0].error, 0.02);
  EXPECT_LT(selection.checks[0].error, selection.checks[0].random_median);
  EXPECT_LT(selection.mix_distance, selection.random_mix_distance);
}

TEST(Selections, StopWhenTheErrorIsSmallEnough) {
  const Selection selection = select_jobs(fleet_of(60), {.most_jobs = 30, .max_error = 0.05});
  EXPECT_LT(selection.jobs.size(), 30U);
  EXPECT_LE(selection.error, 0.05);
  EXPECT_TRUE(selection.met_max_error);
}

TEST(Selections, SayWhenTheBudgetIsTooSmall) {
  const Selection selection = select_jobs(fleet_of(60), {.most_jobs = 1, .max_error = 0.0001});
  EXPECT_EQ(selection.jobs.size(), 1U);
  EXPECT_FALSE(selection.met_max_error);
}

TEST(Selections, KeepWithinMinutes) {
  EXPECT_EQ(select_jobs(fleet_of(60), {.most_seconds = 200}).jobs.size(), 3U);
  EXPECT_THROW(static_cast<void>(select_jobs(fleet_of(60), {.most_seconds = 20})),
               et_schema::Error);
}

TEST(Selections, AWholeFleetIsItself) {
  const Selection selection = select_jobs(fleet_of(5), {.most_jobs = 5});
  EXPECT_EQ(selection.jobs.size(), 5U);
  EXPECT_LT(selection.mix_distance, 1e-3);
}

TEST(Selections, NothingIsRefused) {
  EXPECT_EQ(error_of([&] { return select_jobs({}, {}); }),
            "there is nothing to select from\n"
            "  expected: jobs with benchmarks and weights above 0\n"
            "  got:      0 jobs\n"
            "  hint:     add jobs (understudy fleet add); a night makes benchmarks");
}

}  // namespace
}  // namespace understudy::fleet
