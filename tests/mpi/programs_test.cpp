// Programs that matching accepts never deadlock, however they are run.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "generator/matching/matching.h"
#include "plain_data.h"
#include "program_builder.h"
#include "random_programs.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/bind/bind.h"
#include "replayer/bind/decisions.h"
#include "replayer/bind/externals.h"
#include "replayer/job/replay.h"
#include "replayer/run/run.h"
#include "replayer/run/trial.h"

namespace understudy::tests {
namespace {

using et_schema::CommKind;
using et_schema::CommOrder;
using et_schema::DType;
using et_schema::SlotId;
using replayer::testing::constant;
using replayer::testing::number;
using replayer::testing::ref;

/// `count` seeds from `first` on. One process can make a few thousand programs' groups: MPI does
/// not give their numbers back.
std::vector<unsigned> seeds(unsigned first, unsigned count) {
  std::vector<unsigned> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

/// This rank's program of a job, ready to run.
class Runner {
 public:
  Runner(const et_schema::Bench& bench, const CommOrder& order)
      : program_(bench.programs[static_cast<std::size_t>(backend().rank())]),
        decisions_(program_, {c10::Device(c10::kCPU), replayer::Only::kAll}),
        machine_(program_, backend()),
        externals_(program_, c10::Device(c10::kCPU), 0) {
    for (std::size_t i = 0; i < bench.groups.size(); ++i) {
      const std::vector<int> ranks(bench.groups[i].ranks.begin(), bench.groups[i].ranks.end());
      groups_.push_back({bench.groups[i].name,
                         i == 0 ? 0 : backend().make_group(bench.groups[i].name, ranks),
                         static_cast<int>(ranks.size())});
    }
    replayer::Trial trial(decisions_, machine_, externals_, backend(), groups_, false, order);
    bound_ = trial.run().program;
  }

  void iterate(bool one_at_a_time) {
    externals_.restore();
    externals_.place(machine_.slots(), machine_.given());
    machine_.prime(bound_);
    machine_.set_blocking(one_at_a_time);
    machine_.run(bound_);
    machine_.set_blocking(false);
  }

  [[nodiscard]] bool holds(const ExpectedTensor& expected) {
    const at::Tensor& tensor = machine_.slots()[expected.slot];
    const auto parts = static_cast<std::int64_t>(expected.parts.size());
    const std::int64_t size = tensor.numel() / parts;
    const auto* data = tensor.const_data_ptr<float>();
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      if (data[i] != static_cast<float>(expected.parts[static_cast<std::size_t>(i / size)])) {
        return false;
      }
    }
    return true;
  }

 private:
  at::AutoGradMode grad_mode_{true};
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  const et_schema::Program& program_;
  replayer::Decisions decisions_;
  replayer::Machine machine_;
  replayer::Externals externals_;
  std::vector<replayer::BoundGroup> groups_;
  replayer::BoundProgram bound_;
};

/// Whether the rank puts a communication off when they run one at a time.
bool puts_off(const CommOrder& order) {
  return !std::is_sorted(order.turns.begin(), order.turns.end());
}

TEST(RandomPrograms, GiveTheRightNumbersInAnyOrderOfCompletion) {
  const int ranks = backend().world_size();
  const auto self = static_cast<std::size_t>(backend().rank());
  std::size_t put_off = 0;
  for (const unsigned seed : seeds(0, 12)) {
    const RandomJob job = random_job(seed, ranks);
    const std::vector<CommOrder> orders =
        matching::match_programs(job.bench.programs, job.bench.groups);
    put_off += std::any_of(orders.begin(), orders.end(), puts_off) ? 1U : 0U;
    Runner runner(job.bench, orders[self]);
    for (const bool one_at_a_time : {false, true, true, false}) {
      runner.iterate(one_at_a_time);
      for (const ExpectedTensor& expected : job.expected[self]) {
        EXPECT_TRUE(runner.holds(expected))
            << "seed " << seed << ", slot " << expected.slot << ", "
            << (one_at_a_time ? "one at a time" : "as the program does");
      }
    }
  }
  // In the other jobs, blocking calls would not have waited for each other in a circle.
  EXPECT_GE(put_off, ranks == 1 ? 0U : 3U);
}

replayer::ReplayOptions options_of(const RandomJob& job, int passes) {
  replayer::ReplayOptions options;
  options.comm_order = matching::match_programs(
      job.bench.programs, job.bench.groups)[static_cast<std::size_t>(backend().rank())];
  options.warmup = 1;
  options.iterations = 2;
  options.passes = passes;
  options.threads = 1;
  return options;
}

TEST(RandomPrograms, AreReplayedWholeAtAnyPace) {
  using replayer::Pace;
  const int ranks = backend().world_size();
  const auto self = static_cast<std::size_t>(backend().rank());
  for (const unsigned seed : seeds(100'000, 3)) {
    const RandomJob job = random_job(seed, ranks);
    replayer::ReplayOptions options = options_of(job, 2);
    for (const Pace pace : {Pace::kAsap, Pace::kRecorded}) {
      options.pace = pace;
      const replayer::RankRun run =
          replayer::replay_rank(job.bench, backend().rank(), backend(), options);
      EXPECT_EQ(run.report.iteration_ms.samples.size(), 2U);
      EXPECT_EQ(run.report.pace.own_threads, pace == Pace::kRecorded ? 1U : 0U);
      std::uint64_t timed = 0;
      for (const et_schema::CollectiveTime& row : run.report.collectives) {
        timed += row.count;
        EXPECT_EQ(row.samples_us.size(), 2 * row.count) << row.name;
      }
      EXPECT_EQ(timed, job.communications[self]);
    }
  }
}

// Instructions that are left out or paced otherwise must be left out of matching, waits and turns
// alike.
TEST(RandomPrograms, EndInEveryOtherMode) {
  using replayer::Only;
  using replayer::Pace;
  const int ranks = backend().world_size();
  const auto self = static_cast<std::size_t>(backend().rank());
  for (const unsigned seed : seeds(200'000, 2)) {
    const RandomJob job = random_job(seed, ranks);
    std::vector<replayer::ReplayOptions> modes(7, options_of(job, 1));
    modes[0].pace = Pace::kRecorded;
    modes[2].only = Only::kComms;
    modes[3].only = Only::kCompute;
    modes[4].continue_on_error = true;
    modes[6].restores = false;
    modes[1].pace = Pace::kRecorded;
    modes[1].only = Only::kComms;
    modes[5].operator_times = true;
    for (std::size_t i = 0; i < modes.size(); ++i) {
      const replayer::RankRun run =
          replayer::replay_rank(job.bench, backend().rank(), backend(), modes[i]);
      EXPECT_EQ(run.report.iteration_ms.samples.size(), 2U) << "mode " << i;
      EXPECT_EQ(run.report.collectives.empty(), job.communications[self] == 0) << "mode " << i;
    }
  }
}

// Neither side's send can end before the other receives, unless somebody keeps a copy.
TEST(Exchange, OfLargeTensorsThatAreWrittenBeforeTheReceive) {
  const int ranks = backend().world_size();
  et_schema::Bench bench;
  std::vector<std::int64_t> world;
  std::vector<SlotId> received;
  for (int rank = 0; rank < ranks; ++rank) {
    world.push_back(rank);
    replayer::testing::ProgramBuilder builder;
    const SlotId sent = builder.external(DType::kFloat32, {1'000'000}, constant(rank + 1));
    received.push_back(builder.external(DType::kFloat32, {1'000'000}, constant(0)));
    const int peer = rank ^ 1;
    if (peer < ranks) {
      for (const CommKind kind : {CommKind::kSend, CommKind::kRecv}) {
        const SlotId slot = kind == CommKind::kSend ? sent : received.back();
        auto& message = builder.add_collective(kind, {ref(slot)}, {ref(slot)});
        message.kind = et_schema::InstructionKind::kP2p;
        message.comm->root_or_peer = peer;
        if (kind == CommKind::kSend) {
          builder.add_op(replayer::testing::kAddInPlace, {ref(sent), ref(sent), number(1)},
                         {ref(sent)});
        }
      }
    }
    bench.programs.push_back(std::move(builder.program()));
  }
  bench.groups.push_back({"world", "", "", world, ranks});
  const auto self = static_cast<std::size_t>(backend().rank());
  const int peer = backend().rank() ^ 1;
  Runner runner(bench, matching::match_programs(bench.programs, bench.groups)[self]);
  for (const bool one_at_a_time : {false, true}) {
    runner.iterate(one_at_a_time);
    if (peer < ranks) {
      EXPECT_TRUE(runner.holds({received[self], {static_cast<double>(peer + 1)}}));
    }
  }
}

}  // namespace
}  // namespace understudy::tests
