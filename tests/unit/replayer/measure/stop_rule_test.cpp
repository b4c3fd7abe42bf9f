// When measured iterations end: alone, and on ranks that must agree.

#include "stop_rule.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "host_load.h"
#include "meeting.h"
#include "replayer/backends/interface/job.h"

namespace understudy::replayer {
namespace {

using testing::Meeting;

class RankJob : public backends::Job {
 public:
  RankJob(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int world_size() const override { return meeting_.ranks(); }
  std::vector<std::string> all_gather_text(const std::string& text) override {
    return meeting_.exchange(rank_, text);
  }
  void barrier() override {}
  [[noreturn]] void abort(int status) override { std::exit(status); }

 private:
  Meeting& meeting_;
  int rank_;
};

struct Ending {
  std::size_t iterations = 0;
  std::string by;
  bool operator==(const Ending&) const = default;
};

/// What each rank does: samples in ms by iteration, and behind which one a signal comes, if one.
struct RankPlay {
  std::function<double(std::size_t)> sample_ms = [](std::size_t) { return 10.0; };
  std::size_t signal_after = 0;
  int signal = SIGINT;
};

std::vector<Ending> play(const StopLimits& limits, const std::vector<RankPlay>& ranks) {
  Meeting meeting(static_cast<int>(ranks.size()));
  std::vector<Ending> endings(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] {
      RankJob backend(meeting, static_cast<int>(rank));
      std::atomic<int> signal = 0;
      Monitor monitor;
      monitor.stop_signal = &signal;
      StopRule rule(limits, backend, monitor);
      std::vector<double> samples;
      double spent_ms = 0;
      for (bool last = false; !last && samples.size() < 100'000;) {
        samples.push_back(ranks[rank].sample_ms(samples.size()));
        spent_ms += samples.back();
        if (samples.size() == ranks[rank].signal_after) {
          signal = ranks[rank].signal;
        }
        last = rule.is_last(samples, spent_ms / 1000);
      }
      endings[rank] = {samples.size(), rule.ended_by()};
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return endings;
}

class StopRuleRanks : public ::testing::TestWithParam<int> {
 protected:
  [[nodiscard]] std::vector<RankPlay> ranks() const {
    return std::vector<RankPlay>(static_cast<std::size_t>(GetParam()));
  }
  /// Of all ranks.
  [[nodiscard]] std::vector<Ending> all(std::size_t iterations, const std::string& by) const {
    return std::vector<Ending>(static_cast<std::size_t>(GetParam()), Ending{iterations, by});
  }
};
INSTANTIATE_TEST_SUITE_P(StopRule, StopRuleRanks, ::testing::Values(1, 2, 3, 4, 8));

TEST_P(StopRuleRanks, EndAfterAsManyIterations) {
  EXPECT_EQ(play({7, {}, {}}, ranks()), all(7, "iterations"));
}

TEST_P(StopRuleRanks, EndTogetherWhenTheSlowestHasUsedItsTime) {
  std::vector<RankPlay> plays = ranks();
  plays.back().sample_ms = [](std::size_t) { return 100.0; };
  EXPECT_EQ(play({{}, 0.55, {}}, plays), all(6, "seconds"));
}

TEST_P(StopRuleRanks, EndTogetherWhereOneHasASignal) {
  std::vector<RankPlay> plays = ranks();
  plays.back().signal_after = 5;
  EXPECT_EQ(play({{}, 1000, {}}, plays), all(5, "SIGINT"));
  plays.back().signal = SIGTERM;
  EXPECT_EQ(play({100, 1000, 1.0}, plays), all(5, "SIGTERM"));
}

TEST_P(StopRuleRanks, EndTogetherWhereSignalsComeAtDifferentTimes) {
  std::vector<RankPlay> plays = ranks();
  for (std::size_t rank = 0; rank < plays.size(); ++rank) {
    plays[rank].signal_after = 9 - rank;
  }
  EXPECT_EQ(play({100, {}, {}}, plays), all(10 - plays.size(), "SIGINT"));
}

TEST_P(StopRuleRanks, UntilTheIntervalIsNarrow) {
  EXPECT_EQ(play({{}, 1000, 1.0}, ranks()), all(StopRule::kFirstCheck, "interval"));
}

TEST_P(StopRuleRanks, OneNoisyRankMakesAllGoOn) {
  std::vector<RankPlay> plays = ranks();
  // As many of 10 ms as of 12 ms: the interval of their median reaches from one to the other.
  plays.back().sample_ms = [](std::size_t i) { return i % 2 == 0 ? 10.0 : 12.0; };
  EXPECT_EQ(play({200, 1000, 1.0}, plays), all(200, "iterations"));
  EXPECT_EQ(play({{}, 0.5, 1.0}, plays)[0].by, "seconds");
}

TEST_P(StopRuleRanks, TheIntervalIsLookedAtWheneverTheirNumberHasGrownByAQuarter) {
  std::vector<RankPlay> plays = ranks();
  // Narrow from the 23rd on if it were looked at after each; looks are at 20 and at 25.
  plays.front().sample_ms = [](std::size_t i) { return i < 6 ? 20.0 : 10.0; };
  const std::vector<Ending> endings = play({{}, 1000, 1.0}, plays);
  EXPECT_EQ(endings, all(25, "interval"));
}

TEST(StopRule, NobodyToAskIsNoSignal) {
  Meeting meeting(1);
  RankJob backend(meeting, 0);
  const Monitor monitor;
  StopRule rule({3, {}, {}}, backend, monitor);
  EXPECT_FALSE(rule.is_last({1}, 0));
  EXPECT_FALSE(rule.is_interrupted());
  EXPECT_EQ(rule.ended_by(), "");
}

constexpr const char* kProcStat =
    "cpu  100 0 50 1000 5 1 2 3 0 0\n"
    "cpu0 10 20 30 400 500 1 2 3 7 8\n"
    "cpu1 100 0 0 0 0 0 0 0 0 0\n"
    "cpu10 5 0 0 0 0 0 0 0 0 0\n"
    "intr 12345\n";

TEST(HostLoad, CountsWhatOurCpusDidAndWhatWasStolen) {
  EXPECT_EQ(busy_ms(kProcStat, {0}, 100), 660);  // without idle, iowait and guests
  EXPECT_EQ(busy_ms(kProcStat, {1, 10}, 100), 1050);
}

TEST(HostLoad, IsNotKnownWhereACpuIsNotNamed) {
  EXPECT_FALSE(busy_ms(kProcStat, {0, 2}, 100));
  EXPECT_FALSE(busy_ms("", {0}, 100));
  EXPECT_FALSE(busy_ms("cpu0 10 20 30\n", {0}, 100));
  EXPECT_FALSE(busy_ms(kProcStat, {}, 100));
}

}  // namespace
}  // namespace understudy::replayer
