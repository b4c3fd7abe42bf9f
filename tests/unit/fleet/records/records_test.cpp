#include <gtest/gtest.h>

#include <cmath>

#include "database/database_fixture.h"
#include "et_schema/base/error.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"
#include "fleet/records/nights.h"
#include "fleet/records/results.h"

namespace understudy::fleet {
namespace {

class Records : public DatabaseTest {
 protected:
  Job added(const std::string& name) {
    Job job;
    job.name = name;
    job.path = "/traces/" + name;
    job.added_utc = "2026-11-21T02:00:00Z";
    add_job(*connection_, job);
    return all_jobs(*connection_).back();
  }
  std::int64_t made(const std::string& key, const std::string& hash) {
    Benchmark benchmark;
    benchmark.key = key;
    benchmark.object = "object of " + key;
    benchmark.benchmark_hash = hash;
    benchmark.fingerprint = "{}";
    return put_benchmark(*connection_, benchmark);
  }
  Result measured(const std::string& hash, const std::string& platform, std::int64_t night,
                  double ms) {
    Result result;
    result.benchmark_hash = hash;
    result.platform = platform;
    result.night = night;
    result.environment = put_environment(*connection_, "torch 2", "{}");
    result.median_ms = ms;
    result.low_ms = std::nan("");
    result.class_ms = {{"matmul", ms / 2}};
    return result;
  }
  std::unique_ptr<Connection> connection_ = open();
};
INSTANTIATE_TEST_SUITE_P(Kinds, Records, ::testing::ValuesIn(database_kinds()),
                         [](const auto& kind) { return kind.param; });

TEST_P(Records, AJobIsKnownByItsName) {
  Job job;
  job.name = "ads";
  job.path = "/traces/ads";
  job.weight = 0.25;
  job.flags = {"--only", "comms"};
  job.tags = {{"team", "ads"}};
  EXPECT_EQ(add_job(*connection_, job), Added::kNew);
  EXPECT_EQ(add_job(*connection_, job), Added::kAsBefore);
  job.weight = 0.5;
  job.tags = {{"team", "search"}, {"tier", "1"}};
  EXPECT_EQ(add_job(*connection_, job), Added::kUpdated);
  const std::vector<Job> jobs = all_jobs(*connection_);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].weight, 0.5);
  EXPECT_EQ(jobs[0].flags, job.flags);
  EXPECT_EQ(jobs[0].tags, job.tags);
  EXPECT_TRUE(remove_job(*connection_, "ads"));
  EXPECT_FALSE(remove_job(*connection_, "ads"));
  EXPECT_TRUE(all_jobs(*connection_).empty());
}

TEST_P(Records, ABrokenJobKeepsItsBenchmarkAndItsFirstNight) {
  const Job job = added("ads");
  const std::int64_t benchmark = made("k", "h");
  set_benchmark(*connection_, job, benchmark, "stat", "hash");
  set_broken(*connection_, job, "cut off", "key", 3, "stat 2");
  set_broken(*connection_, job, "cut off", "key", 5, "stat 2");
  Job now = all_jobs(*connection_).front();
  EXPECT_EQ(now.benchmark, benchmark);
  EXPECT_EQ(now.broken, "cut off");
  EXPECT_EQ(now.broken_night, 3);
  set_benchmark(*connection_, job, benchmark, "stat", "hash");
  now = all_jobs(*connection_).front();
  EXPECT_EQ(now.broken, "");
  EXPECT_EQ(now.broken_night, 0);
  forget_inputs(*connection_, benchmark);
  EXPECT_EQ(all_jobs(*connection_).front().input_stat, "");
}

TEST_P(Records, ABenchmarkIsKnownByWhatItFollowsFrom) {
  EXPECT_NE(benchmark_key("a", "g 1", {}), benchmark_key("a", "g 2", {}));
  EXPECT_NE(benchmark_key("a", "g 1", {"--x y"}), benchmark_key("a", "g 1", {"--x", "y"}));
  const std::int64_t id = made("k", "h");
  EXPECT_EQ(made("k", "h"), id);
  EXPECT_NE(made("k2", "h2"), id);
  EXPECT_EQ(find_benchmark_by_key(*connection_, "k")->id, id);
  EXPECT_EQ(find_benchmark_by_hash(*connection_, "h")->id, id);
  EXPECT_FALSE(find_benchmark_by_key(*connection_, "none"));
  EXPECT_TRUE(current_benchmarks(*connection_).empty());
  set_benchmark(*connection_, added("ads"), id, "", "");
  EXPECT_EQ(current_benchmarks(*connection_).size(), 1U);
  EXPECT_EQ(jobs_of_benchmark(*connection_, id).size(), 1U);
}

TEST_P(Records, ANightHasOneResultOfAPlatform) {
  put_result(*connection_, measured("h", "a100", 1, 10));
  put_result(*connection_, measured("h", "a100", 1, 99));
  put_result(*connection_, measured("h", "a100", 2, 11));
  put_result(*connection_, measured("h", "h100", 2, 5));
  const std::vector<Result> series = series_of(*connection_, "h", "a100", 10);
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].median_ms, 10);
  EXPECT_EQ(series[1].median_ms, 11);
  EXPECT_TRUE(std::isnan(series[0].low_ms));
  EXPECT_EQ(series[0].class_ms.at("matmul"), 5);
  EXPECT_EQ(series_of(*connection_, "h", "a100", 1).front().night, 2);
  EXPECT_EQ(series_with_results(*connection_, 2).size(), 2U);
  EXPECT_EQ(series_of_benchmark(*connection_, "h").size(), 2U);
  EXPECT_EQ(connection_->query("SELECT COUNT(*) FROM result").front().integer(0), 3);
}

TEST_P(Records, WhatWasMeasuredComesBeforeAPrediction) {
  set_benchmark(*connection_, added("ads"), made("k", "h"), "", "");
  Result predicted = measured("h", "h200", 0, 3);
  predicted.source = kPredicted;
  put_result(*connection_, predicted);
  predicted.median_ms = 4;  // takes the place of the one before
  put_result(*connection_, predicted);
  ASSERT_EQ(newest_results(*connection_).size(), 1U);
  EXPECT_EQ(newest_results(*connection_).front().median_ms, 4);
  EXPECT_EQ(newest_results(*connection_).front().source, kPredicted);
  put_result(*connection_, measured("h", "h200", 0, 8));
  put_result(*connection_, measured("h", "h200", 5, 9));
  put_result(*connection_, measured("h", "h200", 0, 7));  // imported again: now the newest
  EXPECT_EQ(newest_results(*connection_).front().median_ms, 7);
  put_result(*connection_, measured("h", "h200", 7, 6));
  put_result(*connection_, measured("other benchmark", "h200", 7, 60));
  predicted.median_ms = 5;
  put_result(*connection_, predicted);
  ASSERT_EQ(newest_results(*connection_).size(), 1U);
  EXPECT_EQ(newest_results(*connection_).front().median_ms, 6);
}

TEST_P(Records, ReportsCanBeLetGoOf) {
  Result result = measured("h", "a100", 1, 10);
  result.report = "object 1";
  put_result(*connection_, result);
  result.night = 2;
  result.report = "object 2";
  put_result(*connection_, result);
  EXPECT_EQ(forget_reports(*connection_, 2), 1U);
  EXPECT_EQ(report_objects(*connection_), std::vector<std::string>{"object 2"});
  EXPECT_EQ(series_of(*connection_, "h", "a100", 10).size(), 2U);
}

TEST_P(Records, TimesOfZeroAndLessAreDamage) {
  put_result(*connection_, measured("h", "a100", 1, -1));
  EXPECT_THROW(static_cast<void>(series_of(*connection_, "h", "a100", 10)), et_schema::Error);
}

TEST_P(Records, ANightIsClosedOnce) {
  EXPECT_FALSE(open_night(*connection_));
  const std::int64_t night = add_night(*connection_, 10, 7);
  ASSERT_TRUE(open_night(*connection_));
  EXPECT_EQ(open_night(*connection_)->unchanged, 7);
  EXPECT_TRUE(close_night(*connection_, night, R"({"is": "first"})"));
  EXPECT_FALSE(close_night(*connection_, night, R"({"is": "second"})"));
  EXPECT_EQ(find_night(*connection_, night)->summary, R"({"is": "first"})");
  EXPECT_FALSE(open_night(*connection_));
  add_night(*connection_, 1, 1);
  EXPECT_EQ(last_nights(*connection_, 1).front().jobs, 1);
}

TEST_P(Records, AnEventIsToldOnce) {
  const Event event{.night = 4,
                    .kind = kSlower,
                    .job = "ads",
                    .benchmark_hash = "h",
                    .platform = "a100",
                    .text = "twice as long"};
  put_event(*connection_, event);
  put_event(*connection_, event);
  EXPECT_EQ(events_of_night(*connection_, 4).size(), 1U);
  EXPECT_EQ(events_of_job(*connection_, "ads").front().text, "twice as long");
  EXPECT_TRUE(events_of_job(*connection_, "search").empty());
  ASSERT_TRUE(last_change(*connection_, "h", "a100"));
  EXPECT_EQ(last_change(*connection_, "h", "a100")->night, 4);
  EXPECT_FALSE(last_change(*connection_, "h", "h100"));
}

TEST(Events, WhatDriftedIsNotToldAsChangedToo) {
  const auto event = [](std::int64_t night, const char* kind, const char* job) {
    Event made;
    made.night = night;
    made.kind = kind;
    made.job = job;
    return made;
  };
  const std::vector<Event> once =
      told_once({event(1, kChanged, "ads"), event(1, kDrifted, "ads"), event(1, kChanged, "search"),
                 event(2, kChanged, "ads")});
  ASSERT_EQ(once.size(), 3U);
  EXPECT_EQ(once[0].kind, kDrifted);
  EXPECT_EQ(once[1].job, "search");
  EXPECT_EQ(once[2].night, 2);
}

TEST_P(Records, DamageNamesTableRowAndColumn) {
  const Job job = added("ads");
  made("key", "hash");
  const std::int64_t night = add_night(*connection_, 1, 0);
  put_result(*connection_, measured("hash", "a100", night, 5));
  put_event(*connection_, {night, kChanged, "ads", "hash", "a100", "text", "{}"});
  const auto refusal = [&](const char* damage, auto read) -> std::string {
    connection_->execute(damage);
    try {
      read();
    } catch (const et_schema::Error& error) {
      EXPECT_EQ(error.kind(), et_schema::ErrorKind::kBadInput);
      const et_schema::ErrorContext& context = error.context();
      return context.field + ": " + context.expected + ", " + context.got;
    }
    return "no error";
  };
  EXPECT_EQ(
      refusal("UPDATE job SET flags = '[1'", [&] { static_cast<void>(all_jobs(*connection_)); }),
      "job.flags of row ads: a JSON list of texts, no JSON from byte 3");
  EXPECT_EQ(refusal("UPDATE benchmark SET flags = '{}'",
                    [&] { static_cast<void>(find_benchmark(*connection_, 1)); }),
            "benchmark.flags of row 1: a JSON list of texts, JSON of another kind");
  EXPECT_EQ(refusal("UPDATE event SET detail = 'x'",
                    [&] { static_cast<void>(events_of_job(*connection_, "ads")); }),
            "event.detail of row (night 1, changed, ads): a JSON object, no JSON from byte 1");
  EXPECT_EQ(refusal("UPDATE event SET detail = '7'",
                    [&] { static_cast<void>(first_benchmarks(*connection_)); }),
            "event.detail of row (changed, ads): a JSON object, JSON of another kind");
  EXPECT_EQ(refusal("UPDATE night SET summary = '[]'",
                    [&] { static_cast<void>(find_night(*connection_, night)); }),
            "night.summary of row 1: a JSON object, JSON of another kind");
  EXPECT_EQ(refusal("UPDATE environment SET json = ' '",
                    [&] { static_cast<void>(find_environment(*connection_, 1)); }),
            "environment.json of row 1: a JSON object, no JSON from byte 2");
  EXPECT_EQ(refusal("UPDATE result SET classes = '{\"matmul\": \"x\"}'",
                    [&] { static_cast<void>(series_of(*connection_, "hash", "a100", 1)); }),
            "result.classes of row 1: a JSON object of numbers, JSON of another kind");
}

}  // namespace
}  // namespace understudy::fleet
