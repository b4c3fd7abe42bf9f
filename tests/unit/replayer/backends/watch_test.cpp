// Tests when a long call is given up, with a clock of the test's own and simulated ranks.

#include "watch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "et_schema/base/error.h"
#include "sleeping_process.h"

namespace understudy::backends {

namespace {

using Clock = Watch::Clock;

constexpr double kStepS = 0.05;  // as often as an engine looks, or more often
constexpr double kLongestS = 1000;

/// Rank 1 answers each question at once with `answer`, or never.
class PlayedWire : public Wire {
 public:
  bool answers = true;
  Answer answer;
  bool is_gone = false;

  [[nodiscard]] std::string name() const override { return {}; }
  [[nodiscard]] std::string version() const override { return {}; }
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int world_size() const override { return 2; }
  [[nodiscard]] Channel open(std::uint32_t /*id*/, std::span<const int> /*ranks*/) override {
    return 0;
  }
  [[nodiscard]] std::unique_ptr<Transfers> make_transfers() override { return nullptr; }
  void post(int /*world_rank*/, std::span<const std::byte> letter) override {
    std::memcpy(&answer.question, letter.data(), letter.size());
    is_asked_ = true;
  }
  [[nodiscard]] std::optional<Letter> next_letter() override {
    if (!std::exchange(is_asked_, false) || !answers) {
      return std::nullopt;
    }
    const auto bytes = std::as_bytes(std::span(&answer, 1));
    return Letter{1, {bytes.begin(), bytes.end()}};
  }
  [[nodiscard]] bool is_lost(int /*world_rank*/) const override { return is_gone; }
  void leave_unfinished() override {}
  void abort_others(int /*status*/) override {}

 private:
  bool is_asked_ = false;
};

/// Rank 0 of two waits in its fourth all-reduce, which rank 1 has not started.
class WatchTest : public ::testing::Test {
 protected:
  WatchTest() {
    other_.emplace();
    wire_.answer.started = 3;
    group_.name = "world";
    group_.ranks = {0, 1};
    group_.rank = 0;
  }

  struct GivenUp {
    double after_s = 0;
    std::string text;
  };
  /// Looks until the call is given up; `at` is called before each look with the seconds since the
  /// call's start. Nothing: it is never given up.
  std::optional<GivenUp> wait(double limit_s, const std::function<void(double)>& at) {
    const Call call{.kind = et_schema::CommKind::kAllReduce};
    const Clock::time_point start = Clock::time_point() + std::chrono::hours(1);
    const LateCall late{call, group_, 4, start, 0, limit_s};
    Watch watch(wire_, [](const Question&) { return Answer(); });
    watch.set_processes({et_schema::own_process(), et_schema::process_here(other_->pid())});
    for (double s = 0; s < kLongestS; s += kStepS) {
      at(s);
      const Clock::time_point now =
          start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
      watch.serve(now);
      try {
        watch.look(late, now);
      } catch (const et_schema::Error& error) {
        return GivenUp{s, et_schema::to_text(error)};
      }
    }
    return std::nullopt;
  }

  PlayedWire wire_;
  std::optional<SleepingProcess> other_;
  Group group_;
};

TEST_F(WatchTest, ARankThatHasDiedIsNamedWithinFiveSecondsWhateverTheLimit) {
  for (const double limit_s : {10., 60., 300.}) {
    for (const double dies_s : {0., 2.5, 8.}) {
      other_.emplace();
      const auto given_up = wait(limit_s, [&](double s) {
        if (s >= dies_s) {
          other_->end();
        }
      });
      ASSERT_TRUE(given_up.has_value());
      EXPECT_LE(given_up->after_s - dies_s, 5) << limit_s << " " << dies_s;
      EXPECT_EQ(given_up->text.substr(0, 16), "a rank has died\n");
    }
  }
}

TEST_F(WatchTest, ARankThatTheWireHasLostIsNamedWhateverItsHost) {
  const auto given_up = wait(60, [this](double s) { wire_.is_gone = s >= 8; });
  ASSERT_TRUE(given_up.has_value());
  EXPECT_LE(given_up->after_s, 13);
  EXPECT_EQ(given_up->text,
            "a rank is not reached any more\n"
            "  rank:     0\n"
            "  field:    allreduce, call 4 of group 'world'\n"
            "  expected: every rank of the group in this call\n"
            "  got:      the connection to rank 1 has ended; its process is still there\n"
            "  hint:     if the rank has failed, its own output says why; else the network, or a "
            "firewall on the way, has cut the connection");
}

TEST_F(WatchTest, ARankThatIsAliveAndDoesNotGetOnIsNamedAtTheLimit) {
  const auto given_up = wait(30, [](double) {});
  ASSERT_TRUE(given_up.has_value());
  EXPECT_NEAR(given_up->after_s, 30, 1);
  EXPECT_EQ(given_up->text,
            "a communication did not complete within 30 s\n"
            "  rank:     0\n"
            "  field:    allreduce, call 4 of group 'world'\n"
            "  expected: every rank of the group in this call\n"
            "  got:      rank 1 has started 3 and is in no communication\n"
            "  hint:     a rank that computes for longer than this needs a higher time limit "
            "(--timeout); one that waits in another call runs another program");
}

TEST_F(WatchTest, ARankThatDoesNotAnswerIsNamedAtTheLimit) {
  wire_.answers = false;
  const auto given_up = wait(30, [](double) {});
  ASSERT_TRUE(given_up.has_value());
  EXPECT_NEAR(given_up->after_s, 30, 1);
  EXPECT_NE(given_up->text.find("rank 1 does not answer"), std::string::npos) << given_up->text;
}

TEST_F(WatchTest, ARankThatGetsOnMayTakeAnyTime) {
  double last_s = 0;
  EXPECT_FALSE(wait(30, [&](double s) {
                 if (s - last_s > 20) {
                   last_s = s;
                   ++wire_.answer.progress;
                 }
               }).has_value());
}

TEST_F(WatchTest, OneThatStopsToGetOnIsNamedAtTheLimitFromThenOn) {
  const auto given_up = wait(30, [this](double s) {
    if (s < 100) {
      ++wire_.answer.progress;
    }
  });
  ASSERT_TRUE(given_up.has_value());
  EXPECT_NEAR(given_up->after_s, 130, 1);
}

}  // namespace
}  // namespace understudy::backends
