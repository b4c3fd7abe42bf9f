#include "replayer/run/pace.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "et_schema/model/threads.h"
#include "fixture.h"
#include "forwarding_backend.h"
#include "hooks.h"
#include "own_threads.h"

namespace understudy::replayer::testing {
namespace {

using et_schema::DeviceWait;

constexpr std::int64_t kMillisecond_ns = 1'000'000;
constexpr std::uint64_t kMain = 1;
constexpr std::uint64_t kLoader = 7;
constexpr const char* kView = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)";

/// Goes on only when a test says so, or waits on it.
class FakeClock final : public PaceClock {
 public:
  TimePoint now() override { return now_; }
  TimePoint wait_until(TimePoint deadline, TimePoint) override {
    if (now_ < deadline) {
      now_ = deadline + std::chrono::nanoseconds(oversleeps_ns);
    }
    return now_;
  }
  void pass(std::int64_t ns) { now_ += std::chrono::nanoseconds(ns); }
  [[nodiscard]] std::int64_t since_start_ns() const { return (now_ - TimePoint()).count(); }

  std::int64_t oversleeps_ns = 0;

 private:
  TimePoint now_{};
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
  /// A hook that holds back for next to no time.
  [[nodiscard]] IssueHook hook() {
    return {result_.program, Pacer(builder_.program(), result_.program, {}), std::nullopt};
  }
  [[nodiscard]] Pacer pacer(decltype(PacerOptions::wait_for_device) wait_for_device = {}) {
    return {builder_.program(),
            result_.program,
            {.wait_for_device = std::move(wait_for_device), .clock = &clock_}};
  }
  void add_wait(std::int64_t start_ns, std::int64_t host_ns,
                DeviceWait::For waits_for = DeviceWait::For::kDevice) {
    builder_.program().profile->device_waits.push_back({start_ns, host_ns, waits_for});
  }
  /// An iteration whose operators take so long; when each was issued, and when it was over.
  std::vector<std::int64_t> play(Pacer& pacer, const std::vector<std::int64_t>& operators_ns) {
    std::vector<std::int64_t> times_ns;
    const std::int64_t begin_ns = clock_.since_start_ns();
    pacer.begin_iteration();
    for (std::size_t i = 0; i < operators_ns.size(); ++i) {
      clock_.pass(loop_ns_);
      pacer.wait(i);
      times_ns.push_back(clock_.since_start_ns() - begin_ns);
      clock_.pass(operators_ns[i]);
      pacer.ended(i);
    }
    pacer.end_iteration();
    times_ns.push_back(clock_.since_start_ns() - begin_ns);
    return times_ns;
  }
  static et_schema::PaceUse use_of(const Pacer& pacer, std::size_t iterations = 1) {
    et_schema::PaceUse use;
    pacer.report(use, iterations);
    return use;
  }

  FakeClock clock_;
  std::int64_t loop_ns_ = 0;  ///< what the loop takes before each operator
  SlotId x_ = 0;
  SlotId last_ = 0;
  SlotId out_ = 0;
};

using Times = std::vector<std::int64_t>;

TEST_F(PaceTest, OperatorsComeAsLongAfterTheOneBeforeAsInTheOriginal) {
  add_timed(2 * kMillisecond_ns, kMillisecond_ns);
  add_timed(5 * kMillisecond_ns, 2 * kMillisecond_ns);
  finish(8 * kMillisecond_ns);
  Pacer paced = pacer();
  EXPECT_EQ(play(paced, {kMillisecond_ns, 2 * kMillisecond_ns}),
            (Times{2 * kMillisecond_ns, 5 * kMillisecond_ns, 8 * kMillisecond_ns}));
  const et_schema::PaceUse use = use_of(paced);
  EXPECT_EQ(use.paced, 2U);
  EXPECT_EQ(use.on_time, 2U);
  EXPECT_EQ(use.unready, 0U);
  EXPECT_EQ(use.unready_ms, 0.0);
  EXPECT_EQ(use.late, 0U);
  EXPECT_EQ(use.late_ms, std::nullopt);
  EXPECT_EQ(use.error_p99_us, 0.0);
  EXPECT_EQ(use.drift_median_us, 0.0);
  EXPECT_EQ(use.drift_p99_us, 0.0);
  EXPECT_EQ(use.drift_end_us, 0.0);
  EXPECT_EQ(use.device_wait_recorded_ms, std::nullopt);
}

TEST_F(PaceTest, WhatFollowsASlowOperatorIsLate) {
  add_timed(2 * kMillisecond_ns, kMillisecond_ns);
  add_timed(5 * kMillisecond_ns, 2 * kMillisecond_ns);
  finish(8 * kMillisecond_ns);
  Pacer paced = pacer();
  EXPECT_EQ(play(paced, {2 * kMillisecond_ns, 2 * kMillisecond_ns}),
            (Times{2 * kMillisecond_ns, 6 * kMillisecond_ns, 9 * kMillisecond_ns}));
  const et_schema::PaceUse use = use_of(paced);
  EXPECT_EQ(use.on_time, 2U) << "its gap was kept";
  EXPECT_EQ(use.late, 1U);
  EXPECT_EQ(use.late_ms, 1.0);
  EXPECT_NEAR(*use.drift_p99_us, 1000, 16) << "to one part in 64";
  EXPECT_EQ(use.drift_median_us, 0.0);
  EXPECT_NEAR(*use.drift_end_us, 1000, 16);
}

TEST_F(PaceTest, AFasterOperatorDriftsTheOtherWay) {
  add_timed(2 * kMillisecond_ns, kMillisecond_ns);
  add_timed(5 * kMillisecond_ns, 2 * kMillisecond_ns);
  finish(8 * kMillisecond_ns);
  Pacer paced = pacer();
  play(paced, {kMillisecond_ns / 2, 2 * kMillisecond_ns});
  const et_schema::PaceUse use = use_of(paced);
  EXPECT_EQ(use.late, 0U);
  EXPECT_NEAR(*use.drift_p99_us, 500, 8);
  EXPECT_NEAR(*use.drift_median_us, -500, 8);
  EXPECT_NEAR(*use.drift_end_us, -500, 8);
}

TEST_F(PaceTest, WhatTheLoopItselfTakesMakesNoOperatorLate) {
  constexpr int kOperators = 10;
  for (int i = 0; i < kOperators; ++i) {
    add_timed(kMillisecond_ns * i, kMillisecond_ns);  // without a gap
  }
  finish(kOperators * kMillisecond_ns);
  loop_ns_ = 700;
  Pacer paced = pacer();
  play(paced, std::vector<std::int64_t>(kOperators, kMillisecond_ns));
  const et_schema::PaceUse use = use_of(paced);
  EXPECT_EQ(use.on_time, 0U);
  EXPECT_EQ(use.unready, 10U);
  EXPECT_DOUBLE_EQ(*use.unready_ms, 0.007);
  EXPECT_EQ(use.late, 0U);
  EXPECT_NEAR(*use.drift_end_us, 7, 0.11);
}

TEST_F(PaceTest, SayHowMuchAfterItsTimeAnOperatorIsIssued) {
  add_timed(2 * kMillisecond_ns, kMillisecond_ns);
  finish(4 * kMillisecond_ns);
  clock_.oversleeps_ns = 40;
  Pacer paced = pacer();
  play(paced, {kMillisecond_ns});
  const et_schema::PaceUse use = use_of(paced);
  EXPECT_EQ(use.error_median_us, 0.04);
  EXPECT_EQ(use.late, 0U);
  EXPECT_NEAR(*use.drift_end_us, 0.08, 0.002);
}

TEST_F(PaceTest, WarmUpIsForgotten) {
  add_timed(2 * kMillisecond_ns, kMillisecond_ns);
  finish(4 * kMillisecond_ns);
  Pacer paced = pacer();
  play(paced, {3 * kMillisecond_ns});
  paced.begin_measuring();
  play(paced, {kMillisecond_ns});
  play(paced, {kMillisecond_ns});
  EXPECT_EQ(use_of(paced, 2).on_time, 2U);
  EXPECT_EQ(use_of(paced, 2).drift_end_us, 0.0);
}

TEST_F(PaceTest, WhatTheCallerOverlappedIsNoGapOfIts) {
  add_timed(0, 4 * kMillisecond_ns, kMain);
  add_timed(2 * kMillisecond_ns, kMillisecond_ns, 2);  // within: its caller waited
  add_timed(4 * kMillisecond_ns, 1000, kMain);
  finish(4 * kMillisecond_ns + 1000);
  Pacer paced = pacer();
  EXPECT_EQ(play(paced, {0, 0, 0}), (Times{0, 0, 0, 0}));
}

TEST_F(PaceTest, WithoutADeviceNothingIsWaitedFor) {
  add_timed(2 * kMillisecond_ns, kMillisecond_ns);
  add_timed(6 * kMillisecond_ns, kMillisecond_ns);
  finish(10 * kMillisecond_ns);
  add_wait(4 * kMillisecond_ns, kMillisecond_ns);
  add_wait(8 * kMillisecond_ns, kMillisecond_ns);
  Pacer paced = pacer();
  EXPECT_EQ(play(paced, {kMillisecond_ns, kMillisecond_ns}),
            (Times{2 * kMillisecond_ns, 5 * kMillisecond_ns, 8 * kMillisecond_ns}));
  const et_schema::PaceUse use = use_of(paced);
  EXPECT_EQ(use.device_waits, 2U);
  EXPECT_EQ(use.device_wait_recorded_ms, 2.0);
  EXPECT_EQ(use.device_wait_ms, std::nullopt);
  EXPECT_EQ(use.drift_p99_us, 0.0);
  EXPECT_EQ(use.drift_end_us, 0.0);
}

TEST_F(PaceTest, TheDeviceIsWaitedForWhereTheOriginalDid) {
  add_timed(2 * kMillisecond_ns, kMillisecond_ns);
  add_timed(6 * kMillisecond_ns, kMillisecond_ns);
  finish(10 * kMillisecond_ns);
  add_wait(4 * kMillisecond_ns, kMillisecond_ns, DeviceWait::For::kEvent);
  add_wait(9 * kMillisecond_ns, kMillisecond_ns);
  std::vector<std::pair<DeviceWait::For, std::int64_t>> waits;
  Pacer paced = pacer([&](DeviceWait::For waits_for, std::optional<std::size_t>) {
    waits.emplace_back(waits_for, clock_.since_start_ns());
    clock_.pass(3 * kMillisecond_ns);
  });
  // 2 the gap, 1 the operator, 1 before the wait, 3 the wait, 1 behind it; likewise at the end.
  EXPECT_EQ(play(paced, {kMillisecond_ns, kMillisecond_ns}),
            (Times{2 * kMillisecond_ns, 8 * kMillisecond_ns, 14 * kMillisecond_ns}));
  EXPECT_EQ(waits, (std::vector<std::pair<DeviceWait::For, std::int64_t>>{
                       {DeviceWait::For::kEvent, 4 * kMillisecond_ns},
                       {DeviceWait::For::kDevice, 11 * kMillisecond_ns}}));
  const et_schema::PaceUse use = use_of(paced);
  EXPECT_EQ(use.device_waits, 2U);
  EXPECT_EQ(use.device_wait_recorded_ms, 2.0);
  EXPECT_EQ(use.device_wait_ms, 6.0);
  EXPECT_EQ(use.late, 1U) << "the device was slower than recorded";
  EXPECT_NEAR(*use.drift_end_us, 4000, 64);
}

TEST_F(PaceTest, AnEventIsWaitedForBehindTheStepThatHadEndedThen) {
  const auto add_launched = [&](std::int64_t start_ms, std::int64_t device_ms) {
    add_timed(start_ms * kMillisecond_ns, kMillisecond_ns);
    et_schema::Timing& timing = *builder_.program().instructions.back().timing;
    timing.launches = 1;
    timing.device_ns = device_ms * kMillisecond_ns;
  };
  add_launched(0, 2);   // until 2.5
  add_launched(1, 20);  // until 22.5
  add_launched(5, 1);
  finish(40 * kMillisecond_ns);
  add_wait(2 * kMillisecond_ns, kMillisecond_ns, DeviceWait::For::kEvent);
  add_wait(10 * kMillisecond_ns, 13 * kMillisecond_ns, DeviceWait::For::kEvent);
  std::vector<std::optional<std::size_t>> waits;
  std::vector<std::size_t> recorded;
  Pacer paced{
      builder_.program(),
      result_.program,
      {.wait_for_device = [&](DeviceWait::For,
                              std::optional<std::size_t> behind) { waits.push_back(behind); },
       .record_event = [&](std::size_t step) { recorded.push_back(step); },
       .clock = &clock_}};
  static_cast<void>(play(paced, {kMillisecond_ns, kMillisecond_ns, kMillisecond_ns}));
  EXPECT_EQ(waits, (std::vector<std::optional<std::size_t>>{0, 1}));
  EXPECT_EQ(recorded, (std::vector<std::size_t>{0, 1}));
}

TEST_F(PaceTest, WaitsOfOneGapAreOneForAllThatTheyWaitFor) {
  add_timed(6 * kMillisecond_ns, kMillisecond_ns);
  finish(7 * kMillisecond_ns);
  add_wait(kMillisecond_ns, kMillisecond_ns, DeviceWait::For::kStream);
  add_wait(3 * kMillisecond_ns, kMillisecond_ns, DeviceWait::For::kDevice);
  add_wait(6 * kMillisecond_ns + 1, 100);  // within the operator: its own
  std::vector<DeviceWait::For> waits;
  Pacer paced = pacer(
      [&](DeviceWait::For waits_for, std::optional<std::size_t>) { waits.push_back(waits_for); });
  EXPECT_EQ(play(paced, {kMillisecond_ns}), (Times{4 * kMillisecond_ns, 5 * kMillisecond_ns}));
  EXPECT_EQ(waits, std::vector<DeviceWait::For>{DeviceWait::For::kDevice});
  EXPECT_EQ(use_of(paced).device_waits, 2U);
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
  IssueHook issue = hook();
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

TEST_F(PaceTest, EachThreadHasItsOwnViewOfWhatAllRead) {
  const SlotId weight = builder_.external(DType::kFloat32, {8}, constant(1));
  const SlotId view = builder_.intermediate(DType::kFloat32, {2, 4});
  builder_.program().slots[view].storage = builder_.program().slots[weight].storage;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t thread = i % 2 == 0 ? kLoader : kMain;
    builder_.add_op(kView, {ref(weight), list({number(2), number(4)})}, {ref(view)}).thread =
        thread;
    const SlotId made = builder_.intermediate(DType::kFloat32, {2, 4});
    builder_.add_op(kRelu, {ref(view)}, {ref(made)}).thread = thread;
    keep(made, sink(DType::kFloat32, {2, 4}));
  }
  add_timed(0, 1);
  builder_.program() = et_schema::with_slots_by_thread(builder_.program(), {kLoader});
  EXPECT_EQ(std::ranges::count(builder_.program().slots, builder_.program().slots[view]), 2);
  finish(1);
  IssueHook issue = hook();
  OwnThreads threads(result_.program, *machine_, issue,
                     plan_threads(builder_.program(), result_.program, {kLoader}));
  for (int iteration = 0; iteration < 50; ++iteration) {
    threads.run(issue);
  }
}

TEST_F(PaceTest, AFailureOnAnotherThreadEndsTheIteration) {
  add_timed(0, 1, kMain);
  const SlotId only_there = builder_.external(DType::kFloat32, {4}, constant(1));
  x_ = only_there;
  add_timed(1, 1, kLoader);
  finish(2);
  IssueHook issue = hook();
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
  backends::Ended wait(std::unique_ptr<backends::Work> work) override {
    if (!stuck) {
      return ForwardingBackend::wait(std::move(work));
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
  IssueHook issue = hook();
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
