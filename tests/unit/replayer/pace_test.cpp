#include "replayer/pace.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "fixture.h"
#include "hooks.h"
#include "own_threads.h"

namespace understudy::replayer::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using Clock = Pacer::Clock;
using Times = std::vector<Clock::duration>;

constexpr std::int64_t kMillisecond_ns = 1'000'000;
constexpr std::uint64_t kMain = 1;
constexpr std::uint64_t kLoader = 7;

TEST(Pace, IsReadAsItIsWritten) {
  for (const char* text : {"asap", "recorded", "scaled:0.5", "scaled:0", "scaled:2"}) {
    const std::optional<Pace> pace = parse_pace(text);
    ASSERT_TRUE(pace.has_value()) << text;
    EXPECT_EQ(to_text(*pace), text);
  }
}

TEST(Pace, RefusesWhatIsNone) {
  for (const char* text : {"", "fast", "scaled", "scaled:", "scaled:-1", "scaled:x", "scaled:1x",
                           "scaled:nan", "scaled:inf", "scaled:1e9", "Recorded", "recorded "}) {
    EXPECT_FALSE(parse_pace(text).has_value()) << text;
  }
}

/// Stands still but for what it is told to take.
class FakeClock final : public PaceClock {
 public:
  [[nodiscard]] Source::time_point now() override {
    const Source::time_point read = time;
    time += reading_takes;
    return read;
  }
  void sleep_until(Source::time_point until) override { time = std::max(time, until + oversleeps); }
  void pause() override { time += nanoseconds(10); }

  Source::time_point time;
  Clock::duration reading_takes{};
  Clock::duration oversleeps{};
};

class PaceTest : public ReplayerTest {
 protected:
  PaceTest() {
    x_ = builder_.external(DType::kFloat32, {4}, constant(1));
    last_ = x_;
  }

  /// x + x, then the result + x, …: each reads what the one before it made.
  void add_timed(std::int64_t start_ns, std::int64_t host_ns, std::uint64_t thread = kMain) {
    const SlotId made = builder_.intermediate(DType::kFloat32, {4});
    et_schema::Instruction& instruction =
        builder_.add_op(kAdd, {ref(last_), ref(x_), number(1)}, {ref(made)});
    instruction.thread = thread;
    instruction.timing.emplace();
    instruction.timing->start_ns = start_ns;
    instruction.timing->host_ns = host_ns;
    last_ = made;
  }
  void finish(std::int64_t step_ns) {
    out_ = sink(DType::kFloat32, {4});
    keep(last_, out_);
    builder_.program().profile.emplace();
    builder_.program().profile->step_ns = step_ns;
    try_out();
    externals_->place(machine_->slots(), machine_->given());
    machine_->prime(result_.program);
  }
  [[nodiscard]] IssueHook hook(const Pace& pace) {
    return {result_.program, Pacer(builder_.program(), result_.program, pace), std::nullopt};
  }
  struct Iteration {
    Times issued;  ///< paced operators, since the iteration's begin
    Clock::duration ended{};
    et_schema::PaceUse use;
  };
  /// An iteration in which each operator takes so long.
  Iteration run(const Pace& pace, Clock::duration operator_takes) {
    Pacer pacer(builder_.program(), result_.program, pace, {}, clock_);
    pacer.begin_measuring();
    pacer.begin_iteration();
    const Clock::time_point begin = clock_.time;
    Iteration iteration;
    for (std::size_t i = 0; i < result_.program.steps.size(); ++i) {
      if (result_.program.steps[i].source == nullptr ||
          !result_.program.steps[i].source->timing.has_value()) {
        continue;
      }
      pacer.wait(i);
      iteration.issued.push_back(clock_.time - begin);
      clock_.time += operator_takes;
      pacer.ended(i);
    }
    pacer.end_iteration();
    iteration.ended = clock_.time - begin;
    pacer.report(iteration.use, 1);
    return iteration;
  }

  FakeClock clock_;
  SlotId x_ = 0;
  SlotId last_ = 0;
  SlotId out_ = 0;
};

TEST_F(PaceTest, OperatorsComeAsLongAfterTheOneBeforeAsInTheOriginal) {
  add_timed(2 * kMillisecond_ns, kMillisecond_ns);
  add_timed(5 * kMillisecond_ns, 2 * kMillisecond_ns);
  finish(8 * kMillisecond_ns);
  const Iteration iteration = run({Pace::Kind::kRecorded, 1}, microseconds(300));
  EXPECT_EQ(iteration.issued, (Times{microseconds(2000), microseconds(4300)}));
  EXPECT_EQ(iteration.ended, microseconds(5600));
  EXPECT_EQ(iteration.use.paced, 2U);
  EXPECT_EQ(iteration.use.on_time, 2U);
  EXPECT_EQ(iteration.use.late, 0U);
  EXPECT_EQ(iteration.use.late_ms, 0.0);
  EXPECT_EQ(iteration.use.error_median_us, 0.01);
  EXPECT_EQ(iteration.use.error_p99_us, 0.01);
}

TEST_F(PaceTest, ASleepThatEndsLateIsSpunForOrShowsAsAnError) {
  add_timed(2 * kMillisecond_ns, kMillisecond_ns);
  finish(3 * kMillisecond_ns);
  clock_.oversleeps = microseconds(150);
  EXPECT_EQ(run({Pace::Kind::kRecorded, 1}, microseconds(300)).issued[0], microseconds(2000));
  clock_.oversleeps = microseconds(215);
  const Iteration late = run({Pace::Kind::kRecorded, 1}, microseconds(300));
  EXPECT_EQ(late.issued[0], microseconds(2015));
  EXPECT_EQ(late.use.on_time, 1U);
  EXPECT_DOUBLE_EQ(late.use.error_median_us.value_or(0), 15.01);
}

TEST_F(PaceTest, OperatorsWithoutAGapBeforeThemAreCountedAsLate) {
  add_timed(3 * kMillisecond_ns, kMillisecond_ns);
  add_timed(4 * kMillisecond_ns, 1000);  // at once, which no loop can do
  finish(4 * kMillisecond_ns);
  clock_.reading_takes = nanoseconds(50);
  const Iteration iteration = run({Pace::Kind::kRecorded, 1}, microseconds(300));
  EXPECT_EQ(iteration.use.on_time, 1U);
  EXPECT_EQ(iteration.use.late, 1U);
  EXPECT_DOUBLE_EQ(iteration.use.late_ms.value_or(0), 50e-6);
}

TEST_F(PaceTest, WhatTheCallerOverlappedIsNoGapOfIts) {
  add_timed(0, 4 * kMillisecond_ns, kMain);
  add_timed(2 * kMillisecond_ns, kMillisecond_ns, 2);  // within: its caller waited
  add_timed(4 * kMillisecond_ns, 1000, kMain);
  finish(4 * kMillisecond_ns + 1000);
  const Iteration iteration = run({Pace::Kind::kRecorded, 1}, microseconds(300));
  EXPECT_EQ(iteration.issued, (Times{microseconds(0), microseconds(300), microseconds(600)}));
  EXPECT_EQ(iteration.ended, microseconds(900));
}

TEST_F(PaceTest, ScaledGapsShortenTheStep) {
  add_timed(20 * kMillisecond_ns, kMillisecond_ns);
  finish(41 * kMillisecond_ns);
  const Iteration iteration = run({Pace::Kind::kScaled, 0.25}, microseconds(300));
  EXPECT_EQ(iteration.use.paced, 1U);
  EXPECT_EQ(iteration.ended, microseconds(10'300));  // 40 ms of gaps ÷ 4
}

TEST_F(PaceTest, OnlyThreadsThatRanBesideOthersAreTheirOwn) {
  add_timed(0, 1000, kMain);
  add_timed(2000, 1000, 2);  // autograd: its caller waits
  add_timed(4000, 5000, kMain);
  add_timed(5000, 1000, kLoader);
  EXPECT_EQ(overlapping_threads(builder_.program()), std::vector<std::uint64_t>{kLoader});
}

TEST_F(PaceTest, ThreadsThatCommunicateStayWithTheCaller) {
  add_timed(0, 5000, kMain);
  add_timed(1000, 1000, kLoader);
  builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(x_)}, {ref(x_)}).thread = kLoader;
  EXPECT_TRUE(overlapping_threads(builder_.program()).empty());
}

TEST_F(PaceTest, DataFlowsBetweenThreads) {
  constexpr int kOperators = 200;
  for (int i = 0; i < kOperators; ++i) {
    add_timed(i, 1, i % 3 == 0 ? kLoader : kMain);
  }
  finish(kOperators);
  IssueHook issue = hook({Pace::Kind::kRecorded, 1});
  ThreadPlan plan = plan_threads(builder_.program(), result_.program, {kLoader});
  EXPECT_EQ(plan.threads[1].size(), 67U);
  OwnThreads threads(result_.program, *machine_, issue, std::move(plan));
  for (int iteration = 0; iteration < 50; ++iteration) {
    slot(out_).zero_();
    issue.begin_iteration();
    threads.run(issue);
    ASSERT_EQ(slot(out_)[0].item<float>(), 1.0F + kOperators);
    ASSERT_FALSE(slot(last_).defined());
  }
}

TEST_F(PaceTest, AFailureOnAnotherThreadEndsTheIteration) {
  add_timed(0, 1, kMain);
  const SlotId only_there = builder_.external(DType::kFloat32, {4}, constant(1));
  x_ = only_there;
  add_timed(1, 1, kLoader);
  finish(2);
  IssueHook issue = hook({Pace::Kind::kRecorded, 1});
  OwnThreads threads(result_.program, *machine_, issue,
                     plan_threads(builder_.program(), result_.program, {kLoader}));
  threads.run(issue);
  EXPECT_EQ(machine_->failed_step(), nullptr);
  machine_->slots()[only_there] = at::empty({3});
  EXPECT_THROW(threads.run(issue), std::exception);
  ASSERT_NE(machine_->failed_step(), nullptr);
  EXPECT_EQ(machine_->failed_step()->source, &builder_.program().instructions[1]);
}

TEST(LoopOverhead, IsNotToldBelowOneReadingOfTheClock) {
  const LoopOverhead below_zero = loop_overhead(-24.51, 22);
  EXPECT_FALSE(below_zero.ns_per_operator);
  EXPECT_EQ(below_zero.resolution_ns, 22);
  EXPECT_FALSE(loop_overhead(-400, 22).ns_per_operator);
  EXPECT_FALSE(loop_overhead(21.9, 22).ns_per_operator);
  EXPECT_EQ(loop_overhead(22, 22).ns_per_operator, 22);
}

}  // namespace
}  // namespace understudy::replayer::testing
