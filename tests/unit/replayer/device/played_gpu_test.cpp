// What runs on a GPU, on LibTorch's own CUDA half with the played card (timed_card.h):
// allocator, streams, events, dispatch and checks of devices are real, and no kernel computes.

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cold_calls.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "fixture.h"
#include "forwarding_backend.h"
#include "generator/job/generate.h"
#include "gpu_observation.h"
#include "on_gpu.h"
#include "program_builder.h"
#include "replayer/bind/externals.h"
#include "replayer/counters/source.h"
#include "replayer/device/device.h"
#include "replayer/device/device_timing.h"
#include "replayer/device/span_lanes.h"
#include "replayer/device/stream_span.h"
#include "replayer/job/rank_gpus.h"
#include "replayer/job/replay.h"
#include "replayer/run/run.h"
#include "replayer/run/streams.h"
#include "stream_span_ptx.h"
#include "sustained.h"
#include "testing/error_text.h"
#include "testing/temporary_folder.h"
#include "timed_card.h"

namespace understudy::replayer::testing {
namespace {

using testing_errors::told;

constexpr const char* kIllegalAccess = "got: CUDA error: an illegal memory access was encountered";

c10::Device gpu() {
  return open_device("cuda", std::nullopt);
}

at::TensorOptions on_gpu() {
  return at::TensorOptions().device(gpu());
}

constexpr int kIterations = 40;

/// Gives the GPU its usual memory back.
class LessMemory {
 public:
  explicit LessMemory(std::size_t bytes) { timed_card::use(bytes); }
  LessMemory(const LessMemory&) = delete;
  LessMemory& operator=(const LessMemory&) = delete;
  ~LessMemory() { timed_card::use(); }
};

TEST(PlayedGpu, IsOpenedAsAnyOther) {
  EXPECT_EQ(device_text(gpu()), "cuda:0");
  EXPECT_EQ(device_pci_bus_id(gpu()), "0000:10:00.0");
  EXPECT_TRUE(device_free_bytes(gpu()).has_value());
  std::vector<timed_card::Issued> issues;
  timed_card::keep_issues(&issues);
  const at::Tensor tensor = at::ones({4}, on_gpu());
  timed_card::keep_issues(nullptr);
  EXPECT_TRUE(tensor.is_cuda());
  EXPECT_EQ(issues.size(), 1U);
}

/// Beside another rank, whose GPU is told by the test.
class BesideAnother : public ForwardingBackend {
 public:
  explicit BesideAnother(std::string gpu) : gpu_(std::move(gpu)) {}
  std::string host() const override { return "node-1"; }
  std::vector<std::string> all_gather_text(const std::string& text) override {
    return {text, gpu_};
  }

 private:
  std::string gpu_;
};

TEST(PlayedGpu, IsSharedWithARankOfTheSameHostThatHasTheSame) {
  const auto is_shared_with = [](const std::string& other) {
    BesideAnother job(other);
    return do_ranks_share_gpus(job, gpu());
  };
  EXPECT_TRUE(is_shared_with("node-1 0000:10:00.0"));
  EXPECT_FALSE(is_shared_with("node-1 0000:af:00.0"));
  EXPECT_FALSE(is_shared_with("node-2 0000:10:00.0"));
}

TEST(PlayedGpu, RanksThatWereNotToldToShareItAreRefused) {
  BesideAnother job("node-1 01000000-0000-0000-0000-000000000000");
  EXPECT_NO_THROW(refuse_shared_gpu(job, "cuda:0", gpu()));
  BesideAnother instances("node-1 11112233-4455-6677-8899-aabbccddeeff");  // of one GPU, by MIG
  EXPECT_NO_THROW(refuse_shared_gpu(instances, "cuda", gpu()));
  EXPECT_EQ(
      testing_errors::error_of(et_schema::ErrorKind::kUsage,
                               [&] { return refuse_shared_gpu(job, "cuda", gpu()); }),
      told("the replay cannot run on cuda: ranks of a host have the same GPU", "field: --device",
           "expected: a GPU for each rank, or a single one that is visible to each",
           "got: 2 ranks on 01000000-0000-0000-0000-000000000000 of node-1",
           "hint: Start as many ranks a host as it has GPUs, or name the GPU that they share: "
           "--device cuda:0."));
}

TEST(PlayedGpu, ABlockThatDoesNotFitIsNoErrorOfTheNextKernel) {
  static_cast<void>(gpu());
  {
    const LessMemory less(std::size_t{1} << 30U);
    EXPECT_FALSE(device_block(gpu(), std::size_t{2} << 30U));
  }
  EXPECT_NO_THROW(static_cast<void>(at::ones({4}, on_gpu())));
  const c10::Storage block = device_block(gpu(), 1000);
  EXPECT_EQ(block.nbytes(), 1000U);
}

/// Tensors that exist before the step.
class ExternalsOnGpu : public OnGpu {
 protected:
  ExternalsOnGpu() { static_cast<void>(gpu()); }
  et_schema::Storage& storage(SlotId slot) {
    return builder_.program().storages[builder_.slot(slot).storage];
  }
  void place_on_host(SlotId slot, bool pinned) {
    storage(slot).device = {et_schema::DeviceType::kCpu, -1};
    storage(slot).pinned = pinned;
  }
  void ensure(std::vector<SlotId> slots) {
    bound_.externals = std::move(slots);
    externals_.emplace(builder_.program(), gpu(), 0).ensure(bound_);
  }
  void place() {
    slots_.resize(builder_.program().slots.size());
    std::vector<at::Tensor> given(slots_.size());
    externals_->place(slots_, given);
  }

  BoundProgram bound_;
  std::optional<Externals> externals_;
  std::vector<at::Tensor> slots_;
};

TEST_F(ExternalsOnGpu, ThatDoNotFitSayWhichMemory) {
  constexpr std::int64_t kElements = std::int64_t{1} << 29U;
  const SlotId x = builder_.external(DType::kFloat32, {kElements}, constant(1));
  storage(x).device = {et_schema::DeviceType::kCuda, 0};
  const LessMemory less(std::size_t{1} << 30U);
  const std::string text = testing_errors::error_of(et_schema::ErrorKind::kFailed, [&] {
    ensure({x});
    return 0;
  });
  const std::string head =
      told("out of memory: the tensors that exist before the step do not fit into memory",
           "field: memory of cuda:0", "expected: 2147483648 bytes for one of them",
           "got: CUDA out of memory. Tried to allocate 2.00 GiB.");
  EXPECT_EQ(text.substr(0, head.size()), head);
}

TEST_F(ExternalsOnGpu, ThatWerePinnedArePageLockedHoweverLarge) {
  constexpr std::int64_t kSmall = 1000;
  constexpr std::int64_t kLarge = std::int64_t{65} << 20U;  // 260 MiB: else mapped on demand
  const SlotId small = builder_.external(DType::kFloat32, {kSmall}, constant(1));
  const SlotId large = builder_.external(DType::kFloat32, {kLarge}, constant(1));
  const SlotId pageable = builder_.external(DType::kFloat32, {kSmall}, constant(1));
  for (const SlotId slot : {small, large, pageable}) {
    place_on_host(slot, slot != pageable);
  }
  ensure({small, large, pageable});
  place();
  EXPECT_TRUE(slots_[small].is_pinned());
  EXPECT_TRUE(slots_[large].is_pinned());
  EXPECT_FALSE(slots_[pageable].is_pinned());
}

TEST_F(ExternalsOnGpu, ThatWerePinnedStaySoWhenTheirValuesVary) {
  const SlotId indices =
      builder_.external(DType::kInt64, {1000}, {et_schema::ValueRule::Integers{0, 99}});
  place_on_host(indices, true);
  ensure({indices});
  externals_->remember(bound_);
  externals_->draw_variants();
  place();
  std::set<const void*> places;
  for (std::size_t i = 0; i < Externals::kVariants; ++i) {
    externals_->vary(i);
    places.insert(slots_[indices].const_data_ptr());
    EXPECT_TRUE(slots_[indices].is_pinned()) << i;
  }
  EXPECT_EQ(places.size(), Externals::kVariants);
}

TEST(PlayedGpu, TheSeedReachesItsGenerator) {
  constexpr std::uint64_t kSeed = 20'251;
  seed_generators(gpu(), kSeed);
  EXPECT_EQ(at::globalContext().defaultGenerator(gpu()).current_seed(), kSeed);
  EXPECT_EQ(at::globalContext().defaultGenerator(at::kCPU).current_seed(), kSeed);
}

/// The device's time of what `work` issues.
double time_ms(const std::function<void()>& work) {
  DeviceTimer timer(gpu(), 1);
  timer.begin(0);
  work();
  timer.end(0);
  return timer.collect()[0].value_or(0);
}

void launch_kernels(int count) {
  const at::Tensor tensor = at::empty({1000}, on_gpu());
  for (int i = 0; i < count; ++i) {
    static_cast<void>(at::relu(tensor));
  }
}

TEST(PlayedGpu, AnOperatorsTimeIsTheDevicesAndNotTheHosts) {
  const at::Tensor tensor = at::empty({1000}, on_gpu());
  const timed_card::StoppedClock stopped;
  DeviceTimer timer(gpu(), 1);
  const auto pass = [&] {
    timer.begin(0);
    static_cast<void>(at::relu(tensor));
    timer.end(0);
  };
  // Issued to an idle GPU, the kernel waits for the host behind the event.
  pass();
  EXPECT_GT(timer.collect()[0].value_or(0), 1.5 * timed_card::kKernelMs);
  pass();
  timer.end_rehearsal();
  for (int i = 0; i < 3; ++i) {
    pass();
    EXPECT_NEAR(timer.collect()[0].value_or(1), timed_card::kKernelMs, 1e-5);
  }
}

TEST(PlayedGpu, ASpanLastsAsLongAsItIsAskedToAtLeast) {
  const std::unique_ptr<StreamSpan> span = StreamSpan::make(gpu());
  ASSERT_NE(span, nullptr);
  const timed_card::StoppedClock stopped;
  const auto span_ms = [&](std::int64_t ns, int kernels) {
    return time_ms([&] {
      span->begin();
      launch_kernels(kernels);
      span->end(ns);
    });
  };
  constexpr double kLatencyMs = 0.002;
  // From the note's end on; the kernels within it are part of it.
  EXPECT_NEAR(span_ms(1'000'000, 0), 1 + kLatencyMs + timed_card::kKernelMs, 1e-4);
  EXPECT_NEAR(span_ms(1'000'000, 10), 1 + kLatencyMs + timed_card::kKernelMs, 1e-4);
  EXPECT_NEAR(span_ms(0, 10), kLatencyMs + 12 * timed_card::kKernelMs, 1e-4);
}

TEST(PlayedGpu, SpansOfLanesRunBesideTheCurrentStream) {
  SpanLanes lanes(gpu());
  const auto empty = [] {};
  lanes.run(0, 0, empty)();  // makes the lanes
  lanes.run(1, 0, empty)();
  synchronize(gpu());
  const timed_card::StoppedClock stopped;
  constexpr double kSlackMs = 0.02;
  // A call of 1 ms beside 1.2 ms of kernels.
  EXPECT_NEAR(time_ms([&] {
                const auto join = lanes.run(0, 1'000'000, empty);
                launch_kernels(400);
                join();
              }),
              400 * timed_card::kKernelMs, kSlackMs);
  EXPECT_NEAR(time_ms([&] {
                launch_kernels(100);
                lanes.run(0, 1'000'000, empty)();
                launch_kernels(100);
              }),
              1 + 200 * timed_card::kKernelMs, kSlackMs);
  // Those of a lane follow each other, those of two do not.
  for (const std::uint32_t other : {0U, 1U}) {
    EXPECT_NEAR(time_ms([&] {
                  const auto first = lanes.run(0, 1'000'000, empty);
                  const auto second = lanes.run(other, 500'000, empty);
                  first();
                  second();
                }),
                other == 0 ? 1.5 : 1, kSlackMs);
  }
}

#ifdef UNDERSTUDY_PTXAS
TEST(StreamSpan, ItsKernelsAreTakenByCudasAssembler) {
  const testing_files::TemporaryFolder folder;
  const std::string file = folder.path() + "/span.ptx";
  std::ofstream(file) << kStreamSpanPtx;
  for (const char* const architecture : {"sm_75", "sm_90", "sm_100"}) {
    const std::string command =
        std::string(UNDERSTUDY_PTXAS) + " -arch=" + architecture + " -o /dev/null " + file;
    EXPECT_EQ(std::system(command.c_str()), 0) << architecture;
  }
}
#endif

TEST(PlayedGpu, WhatTheEventsThemselvesTakeIsTakenOff) {
  constexpr double kCostMs = 0.0025;
  const at::Tensor tensor = at::empty({1000}, on_gpu());
  const timed_card::StoppedClock stopped;
  timed_card::set_event_cost(kCostMs);
  DeviceTimer timer(gpu(), 2);
  const auto pass = [&] {
    timer.begin(0);
    static_cast<void>(at::relu(tensor));
    timer.end(0);
    timer.begin(1);
    timer.end(1);
  };
  pass();
  timer.end_rehearsal();
  pass();
  const std::vector<std::optional<double>> times_ms = timer.collect();
  timed_card::set_event_cost();
  EXPECT_NEAR(times_ms[0].value_or(1), timed_card::kKernelMs, 1e-5);
  EXPECT_NEAR(times_ms[1].value_or(1), 0, 1e-5);
}

TEST(PlayedGpu, AllocatorsFiguresAreThoseOfTheIterations) {
  GpuObservation observation(gpu());
  at::Tensor scanned;
  for (int i = 0; i < 3; ++i) {
    observation.begin_iteration();
    const at::Tensor a = at::empty({1 << 20}, on_gpu());
    const at::Tensor b = at::empty({1 << 20}, on_gpu());
    observation.end_iteration();
    scanned = at::empty({64 << 20}, on_gpu());  // between iterations
    scanned.reset();
  }
  std::optional<et_schema::GpuUse> use;
  observation.report(use);
  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->memory.allocations, 6U);
  EXPECT_LT(use->memory.peak_reserved_bytes, std::uint64_t{256} << 20U);
  EXPECT_GE(use->memory.peak_bytes, std::uint64_t{8} << 20U);
}

/// A replay of a sample.
class SampleOnGpu : public OnGpu {
 protected:
  static RankRun replay(const std::string& sample, backends::Backend& backend) {
    const std::string file = UNDERSTUDY_SAMPLES "/" + sample + "/rank-0.et.json.gz";
    ReplayOptions changed = options();
    changed.iterations = kIterations;
    return replay_rank(generator::generate(et_schema::read_traces({file}), {}), 0, backend,
                       changed);
  }
};

/// Notes whether the GPU had work when an iteration was about to begin.
class Watching : public ForwardingBackend {
 public:
  void barrier() override {
    busy_ += timed_card::busy_ms() > 0 ? 1 : 0;
    ++barriers_;
  }
  int busy_ = 0;
  int barriers_ = 0;
};

TEST_F(SampleOnGpu, WhatIsPutBackBetweenIterationsIsNotInTheirTime) {
  Watching backend;
  const RankRun run = replay("mlp", backend);
  EXPECT_GE(run.report.measurement.restores, 2U);
  EXPECT_GT(backend.barriers_, kIterations);
  EXPECT_EQ(backend.busy_, 0);
}

constexpr double kStubMs = 0.5;

/// The report of a program of one kernel that took so long on the device, with the kernel's row.
class StubOnGpu : public OnGpu {
 protected:
  RankRun replay_kernel(std::vector<et_schema::Argument> arguments,
                        std::vector<et_schema::Argument> results) {
    Instruction kernel;
    kernel.kind = et_schema::InstructionKind::kKernel;
    kernel.name = "triton_poi_fused_relu_0";
    kernel.node_id = 7;
    kernel.args = std::move(arguments);
    kernel.results = std::move(results);
    kernel.timing = et_schema::Timing{
        .host_ns = 1000, .device_ns = static_cast<std::int64_t>(kStubMs * 1e6), .launches = 1};
    builder_.add(std::move(kernel));
    const timed_card::StoppedClock stopped;
    return replay();
  }
  static void expect_stub(const RankRun& run, const char* by) {
    ASSERT_EQ(run.report.coverage.stubbed.size(), 1U);
    EXPECT_EQ(run.report.coverage.stubbed[0].note, by);
    ASSERT_EQ(run.report.operators.size(), 1U);
    // The kernels that note the time and wait for it come on top.
    EXPECT_GE(run.report.operators[0].device_ms.value_or(0), kStubMs);
    EXPECT_LT(run.report.operators[0].device_ms.value_or(0), kStubMs + 0.02);
  }

  const SlotId x_ = builder_.external(DType::kFloat32, {1000}, constant(1));
};

TEST_F(StubOnGpu, HoldsTheDeviceAsLongAsTheKernelDid) {
  const SlotId y = builder_.intermediate(DType::kFloat32, {1000});
  expect_stub(replay_kernel({ref(x_)}, {ref(y)}), "its inputs read, its outputs written");
}

TEST_F(StubOnGpu, AlsoWhereItIsNotKnownWhatTheKernelWrote) {
  expect_stub(replay_kernel({ref(x_)}, {}), "its inputs read; what it wrote is not known");
}

TEST_F(StubOnGpu, AlsoWhereItsArgumentsAreWhatItWrote) {
  const SlotId y = builder_.external(DType::kFloat32, {1000}, constant(1));
  expect_stub(
      replay_kernel({ref(x_), ref(y), {std::string("r w")}, {std::string("kernel.cpp")}}, {}),
      "a stub: it moves the same bytes and takes the recorded time");
}

TEST_F(OnGpu, AnErrorThatComesLateIsNotTheOperatorsBeingIssued) {
  const SlotId y = tensor();
  builder_.add_op(kRelu, {ref(external())}, {ref(y)});
  builder_.add_op(kRelu, {ref(y)}, {ref(tensor())});
  std::optional<timed_card::Fault> fault;
  const auto fail_in_iterations = [&](const PhaseProgress& progress) {
    if (progress.phase == Phase::kIterations && !fault) {
      fault.emplace();
    }
  };
  const std::string text = testing_errors::error_of([&] {
    return replay([&](ReplayOptions& options) { options.monitor.progress = fail_in_iterations; });
  });
  EXPECT_EQ(text,
            told("cuda:0 failed in an iteration",
                 "expected: the operators that passed the first, checked iteration to pass again",
                 kIllegalAccess,
                 "hint: CUDA_LAUNCH_BLOCKING=1 makes the operator known at which it happens."));
}

/// Operators that the GPU may find fault with once they have run.
class LostGpu : public ReplayerTest {
 protected:
  LostGpu() { watched_ = gpu(); }
  /// With a kernel on the GPU before the operator.
  std::string failure_after(const timed_card::Fault& /*fault*/) {
    const at::Tensor kernel = at::ones({1}, on_gpu());
    builder_.add_op(kRelu, {ref(x_)}, {ref(builder_.intermediate(DType::kFloat32, {4}))});
    return failure();
  }
  SlotId x_ = builder_.external(DType::kFloat32, {4}, constant(1));
};

TEST_F(LostGpu, AnErrorIsPinnedOnTheOperatorThatMadeIt) {
  EXPECT_EQ(failure_after(timed_card::Fault(/*for_good=*/false)),
            told("aten::relu failed", "node: 101", "field: aten::relu(float32[4] strides [1])",
                 "expected: aten::relu(Tensor self) -> Tensor", kIllegalAccess,
                 "hint: --continue-on-error replays the rest and counts the operator as dropped; "
                 "--op-library loads custom operators."));
}

TEST_F(LostGpu, ThatAnswersNothingAnyMoreEndsTheRun) {
  EXPECT_EQ(
      failure_after(timed_card::Fault()),
      told("cuda:0 was lost in aten::relu", "node: 101",
           "field: aten::relu(float32[4] strides [1])", "expected: cuda:0 still answers after it",
           kIllegalAccess,
           "hint: No operator can run on the device after such an error. Look for an index outside "
           "of a table (another --seed draws others), for memory that something else took, and in "
           "the system's log for errors of the device (Xid of NVIDIA's driver)."));
}

/// Notes how communications are asked for. A start, and a wait, is a kernel.
class NotingCalls : public ForwardingBackend {
 public:
  std::unique_ptr<backends::Work> start(const backends::Call& call) override {
    ++started;
    at::ones({1}, on_gpu());
    return ForwardingBackend::start(call);
  }
  backends::Ended wait(std::unique_ptr<backends::Work> work) override {
    at::ones({1}, on_gpu());
    return ForwardingBackend::wait(std::move(work));
  }
  void run(const backends::Call& call) override {
    ++ran;
    ForwardingBackend::run(call);
  }
  int started = 0;
  int ran = 0;
};

// A kernel that has to be loaded can wait for the device, which waits for a collective, which waits
// for a rank whose kernel has to be loaded.
TEST_F(LostGpu, NoCollectiveIsUnderWayWhileAnOperatorRunsForTheFirstTime) {
  auto owned = std::make_unique<NotingCalls>();
  NotingCalls& calls = *owned;
  backend_ = std::move(owned);
  builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(x_)}, {ref(x_)});
  EXPECT_EQ(failure(), "no error");
  EXPECT_EQ(calls.ran, 1);
  EXPECT_EQ(calls.started, 0);
  iterate();
  EXPECT_EQ(calls.ran, 1);
  EXPECT_EQ(calls.started, 1);
}

/// The operators run on the CPU: on the GPU they take no time.
TEST_F(LostGpu, OperatorsAreTimedByNameButViewsAndACommunicationWithItsRest) {
  backend_ = std::make_unique<NotingCalls>();
  const SlotId y = builder_.view(x_, {2, 2}, {2, 1}, 0);
  builder_.add_op("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
                  {ref(x_), numbers({2, 2})}, {ref(y)});
  builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(x_)}, {ref(x_)});
  builder_.add_op(kRelu, {ref(x_)}, {ref(builder_.intermediate(DType::kFloat32, {4}))});
  const TrialResult& result = try_out();
  const timed_card::StoppedClock stopped;
  DeviceTimeHook hook(builder_.program(), result.program, gpu(), nullptr);
  for (int pass = 0; pass < 3; ++pass) {
    machine_->run(result_.program, hook);
    hook.end_pass();
  }
  const std::string comm = builder_.program().instructions[1].name;
  std::vector<et_schema::OperatorTime> operators = {{"aten::view", "view", 1, 0.5},
                                                    {comm, "communication", 1, 0.5},
                                                    {"aten::relu", "elementwise", 1, 0.5},
                                                    {"aten::mm", "matmul", 1, 0.5}};
  hook.report(operators);
  EXPECT_FALSE(operators[0].device_ms.has_value());
  EXPECT_EQ(operators[2].device_samples_ms, std::vector<double>(3, 0));
  EXPECT_FALSE(operators[3].device_ms.has_value());
  ASSERT_EQ(operators[1].device_samples_ms.size(), 3U);
  for (const double sample_ms : operators[1].device_samples_ms) {
    EXPECT_NEAR(sample_ms, 2 * timed_card::kKernelMs + 0.002, 1e-5);  // and a launch when idle
  }
}

TEST_F(LostGpu, ColdCallsAreTimedOnTheDeviceBesideTheWarmOnes) {
  backend_ = std::make_unique<NotingCalls>();
  builder_.add_op(kRelu, {ref(x_)}, {});
  TrialResult& result = try_out();
  const timed_card::StoppedClock stopped;
  ColdCalls cold(*machine_, result.program, gpu());
  DeviceTimeHook hook(builder_.program(), result.program, gpu(), &cold);
  for (int pass = 0; pass < 3; ++pass) {
    machine_->run(result.program, hook);
    hook.end_pass();
  }
  EXPECT_EQ(hook.passes_ms()[0].size(), 3U);
  EXPECT_EQ(cold.warm_device_ms[0].size(), 3U);
}

TEST_F(LostGpu, SustainedCallsAreTimedOnTheDevice) {
  backend_ = std::make_unique<NotingCalls>();
  builder_.add_op(kRelu, {ref(x_)}, {});
  TrialResult& result = try_out();
  SustainedHook hook(*machine_, result.program, gpu(), 0.01, [](std::size_t) {});
  machine_->run(result.program, hook);
  ASSERT_FALSE(hook.device_ms[0].empty());
}

TEST(PlayedGpu, EventsAreMadeBeforeThePass) {
  std::vector<timed_card::Issued> issues;
  timed_card::keep_issues(&issues);
  DeviceTimer timer(gpu(), 2);
  EXPECT_EQ(issues.size(), 4U);
  timer.begin(1);
  timer.end(1);
  timed_card::keep_issues(nullptr);
  EXPECT_EQ(issues.size(), 6U);
}

TEST(PlayedGpu, AStepOnAnotherStreamWaitsForTheOneItReadsFrom) {
  const c10::Device device = gpu();
  const c10::impl::VirtualGuardImpl guard(device.type());
  const c10::Stream first = guard.getStream(device);
  ProgramBuilder builder;
  const auto backend = backends::make_single_backend({});
  Machine machine(builder.program(), *backend);
  BoundProgram bound;
  bound.steps.resize(2);
  StreamPlan plan{2, {{0, {}, true, false}, {1, {0}, false, false}}};
  StreamHook hook(std::move(plan), bound, machine, device);
  hook.begin_iteration();
  hook.built(bound.steps[0]);
  const timed_card::StoppedClock stopped;
  constexpr double kHoldMs = 1;
  ASSERT_TRUE(hold_stream(device, kHoldMs));
  hook.called(bound.steps[0], {});
  hook.built(bound.steps[1]);
  const c10::Stream second = guard.getStream(device);
  EXPECT_NE(second, first);
  EXPECT_FALSE(second.query());
  EXPECT_TRUE(guard.getNewStream(device).query());  // one that waits for nobody
  hook.end_iteration();
  EXPECT_EQ(guard.getStream(device), first);
  synchronize(device);
}

/// A step whose operators and communications have streams and times.
class StreamsOnGpu : public OnGpu {
 protected:
  static constexpr std::int64_t kCompute = 7;
  static constexpr std::int64_t kGather = 20;
  static constexpr std::int64_t kScatter = 24;

  void compute(const char* schema, const std::vector<SlotId>& from, SlotId to,
               std::int64_t start_ns, std::int64_t stream = kCompute) {
    std::vector<et_schema::Argument> arguments;
    for (const SlotId slot : from) {
      arguments.push_back(ref(slot));
    }
    builder_.add_op(schema, std::move(arguments), {ref(to)}).timing =
        et_schema::Timing{.start_ns = start_ns, .stream = stream};
  }
  void communicate(et_schema::CommKind kind, SlotId from, SlotId to, std::int64_t seq,
                   std::int64_t stream, std::int64_t start_ns) {
    et_schema::Instruction& call = builder_.add_collective(kind, {ref(from)}, {ref(to)});
    call.comm->seq = seq;
    call.comm->why = et_schema::kOwnStream;
    call.timing = et_schema::Timing{.start_ns = start_ns, .stream = stream};
  }
  void wait_for(std::int64_t seq, std::int64_t start_ns) {
    et_schema::Instruction wait;
    wait.kind = et_schema::InstructionKind::kWait;
    wait.name = "wait";
    wait.comm.emplace().kind = et_schema::CommKind::kWait;
    wait.comm->seq = seq;
    wait.timing = et_schema::Timing{.start_ns = start_ns, .stream = kCompute};
    builder_.add(std::move(wait));
  }
};

TEST_F(StreamsOnGpu, AProgramOfTwoIsReplayedOnTwo) {
  const SlotId a = tensor();
  const SlotId b = tensor();
  compute(kRelu, {external()}, a, 0);
  compute(kRelu, {a}, b, 0, kGather);
  compute(kMul, {a, b}, tensor(), 0);
  const c10::impl::VirtualGuardImpl guard(gpu().type());
  const c10::Stream first = guard.getStream(gpu());
  const RankRun run = replay([](ReplayOptions& options) { options.streams = Streams::kRecorded; });
  EXPECT_EQ(run.report.coverage.count, 1.0);
  EXPECT_EQ(run.report.iteration_ms.samples.size(), 3U);
  EXPECT_EQ(guard.getStream(gpu()), first);
}

TEST_F(StreamsOnGpu, ACallOnOneOfItsOwnHasOneUnlessTheUserAsksForOne) {
  const SlotId x = external();
  const SlotId whole = tensor();
  compute(kRelu, {x}, tensor(), 10);
  communicate(et_schema::CommKind::kAllReduce, x, whole, 3, kGather, 20);
  compute(kRelu, {x}, tensor(), 30);
  wait_for(3, 40);
  compute(kRelu, {whole}, tensor(), 50);
  builder_.program().profile.emplace().stream_waits = {{40, kCompute, kGather, 25}};
  EXPECT_EQ(replay().report.waits,
            (et_schema::WaitUse{.joins_recorded = 1, .streams_recorded = 1}));
  EXPECT_EQ(replay([](ReplayOptions& options) { options.streams = Streams::kOne; }).report.waits,
            (et_schema::WaitUse{.joins_recorded = 1}));
}

/// Which stream waits for which, as lines "7 after 3 -> 24 before 0": where 3 kernels or copies of
/// the one are done, and before the next of the other, which is its first. Streams have the
/// recorded numbers, in the order in which they are seen.
std::vector<std::string> event_graph(const std::vector<timed_card::Issued>& issues,
                                     std::vector<int> numbers) {
  using Kind = timed_card::Issued::Kind;
  std::map<const void*, std::pair<int, int>> streams;  // number, and kernels so far
  std::map<const void*, std::string> records;
  std::vector<std::string> edges;
  for (const timed_card::Issued& issued : issues) {
    const auto [stream, is_new] = streams.try_emplace(issued.stream, 0, 0);
    if (is_new) {
      stream->second.first = numbers.empty() ? -1 : numbers.front();
      numbers.erase(numbers.begin(), numbers.empty() ? numbers.end() : numbers.begin() + 1);
    }
    auto& [number, kernels] = stream->second;
    if (issued.kind == Kind::kWork) {
      ++kernels;
    } else if (issued.kind == Kind::kRecord) {
      records[issued.event] = fmt::format("{} after {}", number, kernels);
    } else {
      edges.push_back(fmt::format("{} -> {} before {}", records[issued.event], number, kernels));
    }
  }
  return edges;
}

// Two layers whose weights are gathered on a stream of their own, the second ahead of its use,
// and whose gradient is scattered on another one beside the backward pass.
TEST_F(StreamsOnGpu, AStepOfShardedDataParallelHasTheEventsOfItsProfile) {
  const SlotId first_shard = external();
  const SlotId second_shard = external();
  const SlotId first = tensor();
  const SlotId second = tensor();
  const SlotId hidden = tensor();
  const SlotId out = tensor();
  const SlotId gradient = tensor();
  const SlotId scattered = tensor();
  communicate(et_schema::CommKind::kAllGatherBase, first_shard, first, 1, kGather, 10);
  communicate(et_schema::CommKind::kAllGatherBase, second_shard, second, 2, kGather, 15);
  wait_for(1, 20);
  compute(kRelu, {first}, hidden, 30);
  wait_for(2, 40);
  compute(kMul, {hidden, second}, out, 50);
  compute(kMul, {out, hidden}, gradient, 60);
  communicate(et_schema::CommKind::kReduceScatterBase, gradient, scattered, 3, kScatter, 70);
  compute(kRelu, {out}, tensor(), 80);
  wait_for(3, 90);
  compute(kMul, {scattered, first_shard}, tensor(), 100);
  builder_.program().profile.emplace().stream_waits = {{20, kCompute, kGather, 12},
                                                       {40, kCompute, kGather, 17},
                                                       {65, kScatter, kCompute, 62},
                                                       {90, kCompute, kScatter, 72}};
  std::vector<timed_card::Issued> issues;
  const RankRun run = replay([&issues](ReplayOptions& options) {
    options.iterations = 1;
    options.monitor.progress = [&issues](const PhaseProgress& progress) {
      const bool begins = progress.phase == Phase::kIterations && progress.done == 0;
      timed_card::keep_issues(begins ? &issues : nullptr);
    };
  });
  timed_card::keep_issues(nullptr);
  EXPECT_EQ(run.report.waits, (et_schema::WaitUse{.joins_recorded = 3, .streams_recorded = 4}));
  // Beside those of the profile all streams meet before and behind the step.
  EXPECT_EQ(event_graph(issues, {kCompute, kGather, kScatter}),
            (std::vector<std::string>{"7 after 0 -> 20 before 0", "7 after 0 -> 24 before 0",  //
                                      "20 after 1 -> 7 before 0", "20 after 2 -> 7 before 1",
                                      "7 after 3 -> 24 before 0", "24 after 1 -> 7 before 4",  //
                                      "20 after 2 -> 7 before 5", "24 after 1 -> 7 before 5"}));
}

/// x ← x · y, a microsecond after the step's start, at the original's pace.
class PacedOnGpu : public OnGpu {
 protected:
  PacedOnGpu() {
    const SlotId x = external();
    const et_schema::Timing timing{
        .start_ns = 1000, .host_ns = 200, .device_ns = 500, .launches = 1};
    builder_
        .add_op("aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
                {ref(x), ref(external())}, {ref(x)})
        .timing = timing;
    builder_.program().profile.emplace();
    builder_.program().profile->step_ns = 2000;
  }
  RankRun replay() {
    return OnGpu::replay([](ReplayOptions& options) {
      options.iterations = kIterations;
      options.pace = Pace::kRecorded;
    });
  }
};

TEST(CounterSources, AreOpenOrSayWhyNot) {
  const auto open = [](const std::string& name) {
    std::vector<OpenedSource> sources = open_counter_sources(gpu());
    const auto found = std::ranges::find(sources, name, &OpenedSource::name);
    return std::move(sources.at(static_cast<std::size_t>(found - sources.begin())));
  };
  setenv("UNDERSTUDY_NVML", UNDERSTUDY_FAKE_NVML, 1);
  EXPECT_NE(open("perf").source, nullptr);
  EXPECT_EQ(open("gpm").source, nullptr);
  EXPECT_EQ(open("gpm").why_not,
            "the GPU's counters (GPM) cannot be read: A Fake GPU is older than Hopper");
  setenv("FAKE_NVML", "gpm", 1);
  const OpenedSource gpm = open("gpm");
  unsetenv("FAKE_NVML");
  unsetenv("UNDERSTUDY_NVML");
  EXPECT_EQ(gpm.why_not, "");
  ASSERT_NE(gpm.source, nullptr);
  EXPECT_EQ(gpm.source->names().front(), "sm_active");
}

TEST_F(PacedOnGpu, TheEnergyOfTheWindowIsTheStepsKernelsAlone) {
  setenv("UNDERSTUDY_NVML", UNDERSTUDY_FAKE_NVML, 1);
  const et_schema::RankReport report = replay().report;
  unsetenv("UNDERSTUDY_NVML");
  EXPECT_GE(report.measurement.restores, 2U);
  ASSERT_TRUE(report.gpu.has_value());
  ASSERT_TRUE(report.gpu->health.has_value()) << report.gpu->no_health;
  const et_schema::GpuHealth& health = *report.gpu->health;
  EXPECT_GT(health.window_iterations, report.measurement.restore_every);
  // A joule for each kernel, 16 for each copy: with its restores the window has twice as much.
  const auto iterations = static_cast<double>(health.window_iterations);
  EXPECT_EQ(health.restores, (health.window_iterations - 1) / report.measurement.restore_every);
  EXPECT_NEAR(health.restore_j.value_or(0), 16, 5);
  EXPECT_NEAR(health.energy_j.value_or(0), iterations, 0.5 * iterations);
  EXPECT_GE(health.samples.energy_changes, 1U);  // of a busy machine, too
  EXPECT_EQ(health.samples.sm_clock_min_mhz, 1980);
  // Pace is of the measured iterations, one issue each.
  EXPECT_EQ(report.pace.on_time + report.pace.unready, std::uint64_t{kIterations});
}

TEST_F(PacedOnGpu, TheRunSaysWhatDecidedItsKernels) {
  et_schema::RecordedProfile& recorded = *builder_.program().profile;
  recorded.kernel_settings = {{"cudnn.benchmark", "on"}, {"warp_speed", "on"}};
  recorded.variables = {{"NCCL_ALGO", "Ring"}, {"LD_PRELOAD", "evil.so"}};
  std::map<std::string, std::string> settings = replay().settings;
  EXPECT_TRUE(at::globalContext().benchmarkCuDNN());
  at::globalContext().setBenchmarkCuDNN(false);
  unsetenv("NCCL_ALGO");
  EXPECT_EQ(settings["kernel.cudnn.benchmark"], "on");
  EXPECT_EQ(settings["kernel.warp_speed"], "unknown, recorded on");
  EXPECT_EQ(settings["variable.NCCL_ALGO"], "Ring");
  EXPECT_FALSE(settings.contains("variable.LD_PRELOAD"));
  EXPECT_EQ(settings["device"], "cuda");
  EXPECT_EQ(settings["place"], "recorded");
}

TEST_F(PacedOnGpu, WhereTheOriginalWaitedTheHostWaitsForAsMuch) {
  using For = et_schema::DeviceWait::For;
  const std::vector<std::pair<For, std::string>> waits = {{For::kDevice, "cudaDeviceSynchronize"},
                                                          {For::kStream, "cudaStreamSynchronize"},
                                                          {For::kEvent, "cudaEventSynchronize"}};
  const auto calls_of = [&](std::optional<For> waits_for) {
    std::vector<et_schema::DeviceWait>& recorded = builder_.program().profile->device_waits;
    recorded.clear();
    if (waits_for) {
      recorded.push_back({1400, 200, *waits_for});  // the kernel's end
    }
    std::map<For, std::uint64_t> calls;
    for (const auto& [kind, function] : waits) {
      calls[kind] -= timed_card::calls(function);
    }
    const et_schema::PaceUse use = replay().report.pace;
    EXPECT_EQ(use.device_waits, recorded.size());
    EXPECT_EQ(use.device_wait_ms.has_value(), waits_for.has_value());
    for (const auto& [kind, function] : waits) {
      calls[kind] += timed_card::calls(function);
    }
    return calls;
  };
  const auto without = calls_of(std::nullopt);
  for (const auto& [kind, function] : waits) {
    for (const auto& [other, calls] : calls_of(kind)) {
      if (other == kind) {
        EXPECT_GE(calls, without.at(other) + kIterations) << function;
      } else if (other != For::kEvent) {
        EXPECT_EQ(calls, without.at(other)) << function;
      }
    }
  }
}

class MovedSamples : public SampleOnGpu, public ::testing::WithParamInterface<const char*> {};

TEST_P(MovedSamples, AreReplayedWhole) {
  const auto backend = backends::make_single_backend({});
  const RankRun run = replay(GetParam(), *backend);
  EXPECT_EQ(run.report.coverage.count, 1.0);
  for (const et_schema::NamedCount& row : run.report.coverage.dropped) {
    ADD_FAILURE() << row.name << ": " << row.note;
  }
  ASSERT_TRUE(run.report.gpu.has_value());
  EXPECT_GT(run.report.gpu->memory.peak_bytes, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, MovedSamples,
                         ::testing::Values("mlp", "gpt_adamw_fused", "gpt_adamw_foreach",
                                           "dlrm_sparse"),
                         [](const auto& sample) { return std::string(sample.param); });

}  // namespace
}  // namespace understudy::replayer::testing
