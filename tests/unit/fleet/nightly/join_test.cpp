#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "database/database_fixture.h"
#include "fleet/database/connection.h"
#include "fleet/nightly/worker.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/nights.h"

namespace understudy::fleet {
namespace {

class JoiningANight : public DatabaseTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, JoiningANight, ::testing::ValuesIn(database_kinds()),
                         [](const auto& kind) { return kind.param; });

TEST_P(JoiningANight, SeesABenchmarkThatIsMadeMeanwhile) {
  const std::unique_ptr<Connection> connection = open();
  Job job;
  job.name = "ads";
  job.path = "/traces/ads";
  add_job(*connection, job);
  job = all_jobs(*connection).front();
  Benchmark benchmark;
  benchmark.key = "k";
  benchmark.object = "o";
  benchmark.benchmark_hash = "h";
  benchmark.fingerprint = "{}";
  benchmark.id = put_benchmark(*connection, benchmark);
  const std::int64_t night = add_night(*connection, 1, 0);
  join_night(*connection, night, "first");

  std::atomic_flag has_begun;
  std::thread maker([&] {
    const std::unique_ptr<Connection> other = open();
    in_transaction(*other, [&] {
      add_replays(*other, night, benchmark.id);
      has_begun.test_and_set();
      has_begun.notify_all();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // in which the other one joins
      set_benchmark(*other, job, benchmark.id, "", "");
    });
  });
  has_begun.wait(false);
  NightOptions options;
  options.platform = "second";
  ObjectStore::make(folder() / "store", "id");
  EXPECT_EQ(plan_night(*connection, ObjectStore(folder() / "store", "id"), options), night);
  maker.join();

  const Rows rows = connection->query(
      "SELECT platform FROM work WHERE night = $1 AND kind = $2 AND subject = $3 ORDER BY platform",
      {night, kReplayWork, benchmark.id});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].text(0), "first");
  EXPECT_EQ(rows[1].text(0), "second");
}

}  // namespace
}  // namespace understudy::fleet
