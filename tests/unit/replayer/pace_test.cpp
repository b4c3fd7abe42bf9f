#include "replayer/pace.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fixture.h"
#include "forwarding_backend.h"
#include "hooks.h"
#include "own_threads.h"

namespace understudy::replayer::testing {
namespace {

using std::chrono::milliseconds;
using Clock = Pacer::Clock;

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
  et_schema::PaceUse run(IssueHook& issue, Clock::duration& spent) {
    issue.begin_measuring();
    const Clock::time_point begin = Clock::now();
    issue.begin_iteration();
    machine_->run(result_.program, issue);
    issue.end_iteration();
    spent = Clock::now() - begin;
    et_schema::PaceUse use;
    issue.pacer()->report(use, 1);
    return use;
  }

  SlotId x_ = 0;
  SlotId last_ = 0;
  SlotId out_ = 0;
};

TEST_F(PaceTest, OperatorsComeAsLongAfterTheOneBeforeAsInTheOriginal) {
  add_timed(2 * kMillisecond_ns, kMillisecond_ns);
  add_timed(5 * kMillisecond_ns, 2 * kMillisecond_ns);
  finish(8 * kMillisecond_ns);
  IssueHook issue = hook({Pace::Kind::kRecorded, 1});
  Clock::duration spent{};
  const et_schema::PaceUse use = run(issue, spent);
  EXPECT_GE(spent, milliseconds(5));  // 2 + 2 + 1; these operators take no milliseconds
  EXPECT_LT(spent, milliseconds(8));
  EXPECT_EQ(use.paced, 2U);
  EXPECT_EQ(use.on_time, 2U);
  EXPECT_EQ(use.late, 0U);
  EXPECT_EQ(use.late_ms, 0.0);
  ASSERT_TRUE(use.error_p99_us.has_value());
  EXPECT_GE(*use.error_p99_us, *use.error_median_us);
}

TEST_F(PaceTest, OperatorsWithoutAGapBeforeThemAreCountedAsLate) {
  add_timed(3 * kMillisecond_ns, kMillisecond_ns);
  add_timed(4 * kMillisecond_ns, 1000);  // at once, which no loop can do
  finish(4 * kMillisecond_ns);
  IssueHook issue = hook({Pace::Kind::kRecorded, 1});
  Clock::duration spent{};
  const et_schema::PaceUse use = run(issue, spent);
  EXPECT_EQ(use.on_time, 1U);
  EXPECT_EQ(use.late, 1U);
  EXPECT_GT(*use.late_ms, 0.0);
  EXPECT_LT(*use.late_ms, (std::chrono::duration<double, std::milli>(spent)).count());
}

TEST_F(PaceTest, WhatTheCallerOverlappedIsNoGapOfIts) {
  add_timed(0, 4 * kMillisecond_ns, kMain);
  add_timed(2 * kMillisecond_ns, kMillisecond_ns, 2);  // within: its caller waited
  add_timed(4 * kMillisecond_ns, 1000, kMain);
  finish(5 * kMillisecond_ns);
  IssueHook issue = hook({Pace::Kind::kRecorded, 1});
  Clock::duration spent{};
  static_cast<void>(run(issue, spent));
  EXPECT_LT(spent, milliseconds(2));
}

TEST_F(PaceTest, ScaledGapsShortenTheStep) {
  add_timed(20 * kMillisecond_ns, kMillisecond_ns);
  finish(41 * kMillisecond_ns);
  IssueHook issue = hook({Pace::Kind::kScaled, 0.25});
  Clock::duration spent{};
  EXPECT_EQ(run(issue, spent).paced, 1U);
  EXPECT_GE(spent, milliseconds(10));  // 40 ms of gaps ÷ 4
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

/// Whose communications wait for a rank that never comes.
class StuckBackend : public ForwardingBackend {
 public:
  void wait(std::unique_ptr<backends::Work> work) override {
    if (!stuck) {
      ForwardingBackend::wait(std::move(work));
      return;
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::minutes(1), [this] { return interrupted; });
    throw et_schema::run_failed("given up", {});
  }
  void interrupt() override {
    const std::lock_guard lock(mutex_);
    interrupted = true;
    changed_.notify_all();
  }

  bool stuck = false;
  bool interrupted = false;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

TEST_F(PaceTest, AFailureOnAnotherThreadEndsAWaitInTheBackend) {
  auto owned = std::make_unique<StuckBackend>();
  StuckBackend& backend = *owned;
  backend_ = std::move(owned);
  const SlotId there = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId also_there = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId made = builder_.intermediate(DType::kFloat32, {4});
  const SlotId read = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(x_)}, {ref(x_)});
  builder_.add_op(kAdd, {ref(there), ref(also_there), number(1)}, {ref(made)}).thread = kLoader;
  builder_.add_op(kRelu, {ref(x_)}, {ref(read)});  // waits
  finish(2);
  IssueHook issue = hook({Pace::Kind::kRecorded, 1});
  OwnThreads threads(result_.program, *machine_, issue,
                     plan_threads(builder_.program(), result_.program, {kLoader}));
  threads.run(issue);
  backend.stuck = true;
  machine_->slots()[there] = at::empty({3});
  EXPECT_THROW(threads.run(issue), c10::Error);
  EXPECT_TRUE(backend.interrupted);
  ASSERT_NE(machine_->failed_step(), nullptr);
  EXPECT_EQ(machine_->failed_step()->source, &builder_.program().instructions[1]);
}

}  // namespace
}  // namespace understudy::replayer::testing
