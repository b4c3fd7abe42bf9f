#include "fleet/queue/queue.h"

#include <cmath>
#include <mutex>
#include <set>
#include <thread>

#include "database/database_fixture.h"
#include "fleet/database/connection.h"
#include "fleet/process/node.h"
#include "fleet/records/nights.h"
#include "process/ended_process.h"

namespace understudy::fleet {
namespace {

using Clock = std::chrono::steady_clock;

const std::vector<std::string> kBoth = {kGenerateWork, kReplayWork};
constexpr const char* kHere = "here";
// Of a host that is not this one: nobody can tell whether its process lives.
constexpr const char* kElsewhere = "elsewhere|boot|pid:[1]|77|1|0";

class Queues : public DatabaseTest {
 protected:
  Queues() : connection_(open()), night_(add_night(*connection_, 0, 0)) {
    join_night(*connection_, night_, kHere);
  }

  void add(std::int64_t subject, const std::string& kind = kGenerateWork,
           const std::string& platform = "") {
    add_work(*connection_, night_, kind, subject, platform);
  }
  std::optional<WorkItem> claim(WorkQueue& queue, const std::string& platform = kHere) {
    return queue.claim(*connection_, night_, kBoth, platform);
  }
  bool finish(WorkQueue& queue, const WorkItem& item) {
    return queue.finish(*connection_, item, "made", "", [] {});
  }

  std::unique_ptr<Connection> connection_;
  std::int64_t night_;
  Clock::time_point now_ = Clock::now();
  WorkQueue::Clock clock_ = [this] { return now_; };
};
INSTANTIATE_TEST_SUITE_P(Kinds, Queues, ::testing::ValuesIn(database_kinds()),
                         [](const auto& kind) { return kind.param; });

TEST_P(Queues, WorkIsAddedOnceAndTakenOnce) {
  add(1);
  add(1);
  WorkQueue a(this_owner("a"));
  WorkQueue b(this_owner("b"));
  const auto item = claim(a);
  ASSERT_TRUE(item);
  EXPECT_EQ(item->subject, 1);
  EXPECT_EQ(item->attempts, 1);
  EXPECT_FALSE(claim(b));
  EXPECT_FALSE(is_all_done(*connection_, night_));
  EXPECT_TRUE(finish(a, *item));
  EXPECT_FALSE(finish(a, *item));
  EXPECT_TRUE(is_all_done(*connection_, night_));
  EXPECT_FALSE(claim(a));
}

TEST_P(Queues, FinishedWorkTellsHowLongItTook) {
  add(1);
  add(2, kReplayWork, kHere);
  WorkQueue queue(this_owner("a"), kLeaseSeconds, clock_);
  const auto item = claim(queue);
  ASSERT_TRUE(item);
  now_ += std::chrono::milliseconds(2500);
  EXPECT_TRUE(finish(queue, *item));
  give_up_work(*connection_, night_, kHere, "skipped", "no time");
  const std::vector<FinishedWork> work = finished_work(*connection_, night_);
  ASSERT_EQ(work.size(), 2U);
  EXPECT_DOUBLE_EQ(work[0].seconds, 2.5);
  EXPECT_EQ(work[0].attempts, 1);
  EXPECT_TRUE(std::isnan(work[1].seconds));  // nobody had it
  EXPECT_EQ(work[1].attempts, 0);
}

TEST_P(Queues, BenchmarksComeBeforeReplaysOfThisPlatform) {
  add(1, kReplayWork, "there");
  add(2, kReplayWork, kHere);
  add(3);
  WorkQueue queue(this_owner("a"));
  EXPECT_EQ(claim(queue)->subject, 3);
  EXPECT_EQ(claim(queue)->subject, 2);
  EXPECT_FALSE(claim(queue));
  EXPECT_EQ(claim(queue, "there")->subject, 1);
}

TEST_P(Queues, ALeaseRunsOutByTheClockOfWhoWaits) {
  add(1);
  WorkQueue lost(kElsewhere, 30, clock_);
  WorkQueue waiting(this_owner("w"), 30, clock_);
  const auto item = claim(lost);
  ASSERT_TRUE(item);
  EXPECT_FALSE(claim(waiting));  // seen for the first time
  now_ += std::chrono::seconds(29);
  EXPECT_FALSE(claim(waiting));
  now_ += std::chrono::seconds(1);
  const auto taken = claim(waiting);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->attempts, 2);
  // The first one comes back: its work is another's by now, and nothing of it is kept.
  bool was_kept = false;
  EXPECT_FALSE(lost.finish(*connection_, *item, "made", "", [&] { was_kept = true; }));
  EXPECT_FALSE(was_kept);
  EXPECT_TRUE(finish(waiting, *taken));
}

TEST_P(Queues, WhoIsHeardOfKeepsItsWork) {
  add(1);
  WorkQueue other(kElsewhere, 30, clock_);
  WorkQueue waiting(this_owner("w"), 30, clock_);
  ASSERT_TRUE(claim(other));
  EXPECT_FALSE(claim(waiting));
  for (int i = 0; i < 3; ++i) {
    now_ += std::chrono::seconds(25);
    connection_->execute("UPDATE work SET beat = beat + 1");
    EXPECT_FALSE(claim(waiting));
  }
}

TEST_P(Queues, NoWallClockEnters) {
  // Neither table nor queue has a time in it: a machine's date may jump as it likes.
  add(1);
  WorkQueue queue(this_owner("a"), 30, clock_);
  ASSERT_TRUE(claim(queue));
  const Row row = connection_->query("SELECT owner, beat, attempts FROM work").front();
  EXPECT_EQ(row.integer(1), 1);
  EXPECT_EQ(row.integer(2), 1);
}

TEST_P(Queues, AProcessOfThisHostThatIsGoneLosesItsWorkAtOnce) {
  add(1);
  WorkQueue gone(ended_owner("x"), 30, clock_);
  WorkQueue waiting(this_owner("w"), 30, clock_);
  ASSERT_TRUE(claim(gone));
  EXPECT_TRUE(claim(waiting));
}

TEST_P(Queues, AHeartbeatCountsUp) {
  add(1);
  WorkQueue queue(this_owner("a"));
  ASSERT_TRUE(claim(queue));
  const auto beat = [&](const std::string& table) {
    return connection_->query("SELECT beat FROM " + table).front().integer(0);
  };
  const std::int64_t work = beat("work");
  const std::int64_t platform = beat("night_platform");
  const Heartbeat heart(url(), {queue.owner(), night_, kHere}, 0.02);
  // Ends the test by CTest's limit if it never does.
  while (beat("work") < work + 3 || beat("night_platform") < platform + 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST_P(Queues, ManyWorkersDoEachPieceOnce) {
  constexpr std::int64_t kPieces = 200;
  in_transaction(*connection_, [&] {
    for (std::int64_t i = 1; i <= kPieces; ++i) {
      add(i);
    }
  });
  std::mutex mutex;
  std::multiset<std::int64_t> done;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto own = open();
      WorkQueue queue(this_owner(std::to_string(i)));
      while (const auto item = queue.claim(*own, night_, kBoth, kHere)) {
        const bool is_ours = queue.finish(*own, *item, "made", "", [] {});
        const std::lock_guard lock(mutex);
        if (is_ours) {
          done.insert(item->subject);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(done.size(), static_cast<std::size_t>(kPieces));
  EXPECT_EQ(std::set<std::int64_t>(done.begin(), done.end()).size(), done.size());
  EXPECT_EQ(count_work(*connection_, night_, kBoth, kHere).done, static_cast<std::size_t>(kPieces));
}

TEST_P(Queues, WhatFollowsIsDoneWithTheWorkOrNotAtAll) {
  add(1);
  WorkQueue queue(this_owner("a"));
  const auto item = claim(queue);
  ASSERT_TRUE(item);
  EXPECT_THROW(static_cast<void>(queue.finish(*connection_, *item, "made", "",
                                              [&] {
                                                add(2);
                                                throw std::runtime_error("disk full");
                                              })),
               std::runtime_error);
  EXPECT_EQ(count_work(*connection_, night_, kBoth, kHere).total, 1U);
  EXPECT_TRUE(finish(queue, *item));
}

TEST_P(Queues, APlatformsWorkCanBeGivenUp) {
  add(1, kReplayWork, "there");
  give_up_work(*connection_, night_, "there", "not run", "no worker");
  EXPECT_TRUE(is_all_done(*connection_, night_));
  ASSERT_EQ(finished_work(*connection_, night_).size(), 1U);
  EXPECT_EQ(finished_work(*connection_, night_).front().outcome, "not run");
}

}  // namespace
}  // namespace understudy::fleet
