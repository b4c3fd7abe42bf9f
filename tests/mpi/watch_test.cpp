// Tests when a long call is given up, with a clock of the test's own and simulated ranks.

#include "watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>
#include <string>

#include "et_schema/support/error.h"

namespace understudy::backends {

/// The answer that the test makes the rank give.
struct Played {
  Watch::Clock::time_point now;
  bool answers = true;
  Answer answer;
};
Played& played() {
  static Played the_played;
  return the_played;
}

// These replace the ones that send: each question is answered at once, or never.
Board::Board(MPI_Comm comm, Answerer answerer) : comm_(comm), answerer_(std::move(answerer)) {}
Board::Peer& Board::peer(int world_rank) {
  std::unique_ptr<Peer>& peer = peers_[world_rank];
  if (peer == nullptr) {
    peer = std::make_unique<Peer>();
    peer->heard.world_rank = world_rank;
  }
  return *peer;
}
void Board::ask(const Question& question, int world_rank) {
  Heard& heard = peer(world_rank).heard;
  if (heard.under_way) {
    return;
  }
  heard.question = question;
  heard.asked = played().now;
  heard.under_way = !played().answers;
  heard.answered = played().answers;
  heard.answer = played().answer;
}

namespace {

using Clock = Watch::Clock;

constexpr double kStepS = 0.05;  // as often as an engine looks, or more often
constexpr double kLongestS = 1000;

/// A process that sleeps until it is killed.
class Sleeper {
 public:
  Sleeper() : pid_(fork()) {
    while (pid_ == 0) {
      pause();
    }
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() { end(); }
  void end() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      pid_ = 0;
    }
  }
  [[nodiscard]] ProcessId id() const { return process_here(pid_); }

 private:
  pid_t pid_;
};

/// Rank 0 of two waits in its fourth all-reduce, which rank 1 has not started.
class WatchTest : public ::testing::Test {
 protected:
  WatchTest() {
    played() = {};
    other_.emplace();
    played().answer.started = 3;
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
    Call call;
    call.kind = et_schema::CommKind::kAllReduce;
    const LateCall late{call, group_, 4, 0, limit_s};
    Board board(MPI_COMM_NULL, [](const Question&) { return Answer(); });
    Watch watch(board, Processes({own_process(), other_->id()}));
    const Clock::time_point start = Clock::time_point() + std::chrono::hours(1);
    for (double s = 0; s < kLongestS; s += kStepS) {
      at(s);
      played().now =
          start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
      try {
        watch.look(late, start, played().now);
      } catch (const et_schema::Error& error) {
        return GivenUp{s, et_schema::to_text(error)};
      }
    }
    return std::nullopt;
  }

  std::optional<Sleeper> other_;
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
  played().answers = false;
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
                   ++played().answer.progress;
                 }
               }).has_value());
}

TEST_F(WatchTest, OneThatStopsToGetOnIsNamedAtTheLimitFromThenOn) {
  const auto given_up = wait(30, [](double s) {
    if (s < 100) {
      ++played().answer.progress;
    }
  });
  ASSERT_TRUE(given_up.has_value());
  EXPECT_NEAR(given_up->after_s, 130, 1);
}

}  // namespace
}  // namespace understudy::backends
