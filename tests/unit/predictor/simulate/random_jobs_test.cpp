#include <gtest/gtest.h>

#include <random>

#include "hand_made.h"

namespace understudy::predictor {
namespace {

using testing::round_times;

struct RandomJob {
  testing::HandMade made;
  std::int64_t serial_ns = 0;   ///< all that any rank does, one thing after the other
  std::int64_t longest_ns = 0;  ///< of a thread or a stream
};

/// Ranks with operators of their own, the same communications, and values that are read.
void fill(RandomJob& job, unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int below) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(below));
  };
  const int ranks = 1 + static_cast<int>(draw(4));
  const bool on_device = draw(3) > 0;
  const int steps = 5 + static_cast<int>(draw(40));
  std::vector<int> kinds;
  std::vector<std::int64_t> moving_ns;
  for (int i = 0; i < steps; ++i) {
    kinds.push_back(static_cast<int>(draw(10)));
    moving_ns.push_back(draw(60));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    job.made.begin_program();
    std::vector<et_schema::SlotId> slots;
    for (int i = 0; i < 6; ++i) {
      slots.push_back(on_device ? job.made.cuda() : job.made.cpu());
    }
    std::int64_t host_ns = 0;
    std::map<std::int64_t, std::int64_t> streams_ns;
    for (int i = 0; i < steps; ++i) {
      const auto slot = slots[static_cast<std::size_t>(draw(6))];
      const auto other = slots[static_cast<std::size_t>(draw(6))];
      const testing::Times times{
          .gap_ns = draw(20), .host_ns = draw(30), .device_ns = on_device ? draw(80) : 0};
      const std::int64_t stream = 7 + draw(3);
      switch (kinds[static_cast<std::size_t>(i)]) {
        case 0:
        case 1:
          job.made.comm(CommKind::kAllReduce, {slot}, times.host_ns,
                        moving_ns[static_cast<std::size_t>(i)],
                        kinds[static_cast<std::size_t>(i)] == 0);
          host_ns += times.host_ns;
          job.serial_ns += times.host_ns + moving_ns[static_cast<std::size_t>(i)];
          break;
        case 2:
          job.made.wait(slot, times.host_ns);
          host_ns += times.host_ns;
          job.serial_ns += times.host_ns;
          break;
        default: {
          const bool reads = kinds[static_cast<std::size_t>(i)] == 3;
          job.made.op(reads ? "aten::item" : "aten::mm", {slot}, {other}, times,
                      on_device ? std::optional(stream) : std::nullopt);
          host_ns += times.gap_ns + times.host_ns;
          streams_ns[stream] += times.device_ns;
          job.serial_ns += times.gap_ns + times.host_ns + times.device_ns;
        }
      }
    }
    job.longest_ns = std::max(job.longest_ns, host_ns);
    for (const auto& [stream, sum_ns] : streams_ns) {
      job.longest_ns = std::max(job.longest_ns, sum_ns);
    }
  }
}

class RandomJobs : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomJobs, ::testing::Range(0U, 60U));

TEST_P(RandomJobs, EndBetweenTheirLongestPartAndTheSumOfAll) {
  for (unsigned i = 0; i < 20; ++i) {
    RandomJob job;
    fill(job, 100 * GetParam() + i);
    const Simulation simulation = simulate(job.made.job(), job.made, testing::single_step());
    EXPECT_GE(simulation.iteration_ns, static_cast<double>(job.longest_ns)) << GetParam() << i;
    EXPECT_LE(simulation.iteration_ns, static_cast<double>(job.serial_ns)) << GetParam() << i;
    for (const RankClass& rank : simulation.classes) {
      EXPECT_NEAR(rank.breakdown.sum_ns(), rank.iteration_ns, 1e-6);
    }
  }
}

TEST_P(RandomJobs, HaveACriticalPathAsLongAsTheLastIteration) {
  for (unsigned i = 0; i < 20; ++i) {
    RandomJob job;
    fill(job, 100 * GetParam() + i);
    const Simulation simulation = simulate(job.made.job(), job.made, round_times());
    std::int64_t sum_ns = 0;
    for (const PathPiece& piece : simulation.critical_path) {
      EXPECT_GT(piece.ns, 0);
      sum_ns += piece.ns;
    }
    EXPECT_EQ(sum_ns, simulation.end_ns - simulation.begin_ns);
  }
}

TEST_P(RandomJobs, ComeOutTheSameEachTime) {
  RandomJob job;
  fill(job, GetParam());
  const Simulation first = simulate(job.made.job(), job.made, round_times());
  const Simulation second = simulate(job.made.job(), job.made, round_times());
  EXPECT_EQ(first.iteration_ns, second.iteration_ns);
  EXPECT_EQ(first.events, second.events);
  ASSERT_EQ(first.classes.size(), second.classes.size());
  for (std::size_t c = 0; c < first.classes.size(); ++c) {
    ASSERT_EQ(first.classes[c].spans.size(), second.classes[c].spans.size());
    for (std::size_t i = 0; i < first.classes[c].spans.size(); ++i) {
      EXPECT_EQ(first.classes[c].spans[i].start_ns, second.classes[c].spans[i].start_ns);
      EXPECT_EQ(first.classes[c].spans[i].end_ns, second.classes[c].spans[i].end_ns);
      EXPECT_TRUE(first.classes[c].spans[i].cause == second.classes[c].spans[i].cause);
    }
  }
}

}  // namespace
}  // namespace understudy::predictor
