// Steps as CUDA graphs, on LibTorch's own CUDA half with the played card (timed_card.h): captures,
// what prevents them, and the launches of an iteration.

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "et_schema/base/error.h"
#include "on_gpu.h"
#include "program_builder.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/bind/bind.h"
#include "replayer/bind/decisions.h"
#include "replayer/device/device.h"
#include "replayer/device/device_graph.h"
#include "replayer/job/replay.h"
#include "replayer/run/graphs.h"
#include "testing/error_text.h"
#include "timed_card.h"

namespace understudy::replayer::testing {
namespace {

using et_schema::GraphUse;
using et_schema::NamedCount;
using testing_errors::told;

constexpr const char* kItem = "aten::_local_scalar_dense(Tensor self) -> Scalar";
constexpr const char* kToCopy =
    "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? "
    "memory_format=None) -> Tensor";
constexpr const char* kCopyInPlace =
    "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)";

std::uint64_t failed_captures() {
  return timed_card::calls("cudaStreamBeginCapture") - timed_card::calls("cudaStreamEndCapture");
}

/// A program of four numbers, on the GPU unless moved to the host.
class PlayedGraphs : public OnGpu {
 protected:
  SlotId on_host(SlotId slot) {
    builder_.program().storages[builder_.slot(slot).storage].device = {et_schema::DeviceType::kCpu,
                                                                       -1};
    return slot;
  }
  SlotId relu(SlotId from) {
    const SlotId to = tensor();
    builder_.add_op(kRelu, {ref(from)}, {ref(to)});
    return to;
  }
  RankRun replay(std::optional<Streams> streams,
                 const std::function<void(ReplayOptions&)>& change = {}) {
    return OnGpu::replay([&](ReplayOptions& options) {
      options.iterations = kIterations;
      options.warmup = 0;
      options.streams = streams;
      if (change) {
        change(options);
      }
    });
  }
  GraphUse graphs() {
    GraphUse use = replay(Streams::kGraph).report.graphs;
    use.device_share.reset();
    return use;
  }

  static constexpr int kIterations = 5;
  const SlotId x_ = external();
};

TEST_F(PlayedGraphs, AStepThatNothingPreventsIsOneGraph) {
  relu(relu(relu(x_)));
  const std::uint64_t before = timed_card::calls("cudaGraphLaunch");
  const RankRun run = replay(Streams::kGraph);
  EXPECT_EQ(run.report.graphs, (GraphUse{1, 3, 2, 1.0, {}}));
  EXPECT_EQ(timed_card::calls("cudaGraphLaunch") - before,
            kIterations + 1U);  // the first is the captured
  EXPECT_EQ(run.report.iteration_ms.samples.size(), static_cast<std::size_t>(kIterations));
  EXPECT_EQ(run.report.operators.size(), 1U);
  EXPECT_GT(run.report.operators[0].device_ms.value_or(0), 0);
  EXPECT_EQ(run.settings.at("streams"), "graph");
  EXPECT_EQ(failed_captures(), 0U);
}

TEST_F(PlayedGraphs, AnIterationLastsAsLongAsItsKernels) {
  SlotId last = x_;
  constexpr int kKernels = 100;
  for (int i = 0; i < kKernels; ++i) {
    last = relu(last);
  }
  const RankRun run = replay(Streams::kGraph);
  EXPECT_EQ(run.report.graphs.launches_saved, kKernels - 1U);
  EXPECT_GE(run.report.iteration_ms.min.value_or(0), kKernels * timed_card::kKernelMs);
}

TEST_F(PlayedGraphs, AWaitOfTheHostCutsIt) {
  const SlotId y = relu(x_);
  builder_.add_op(kItem, {ref(builder_.external(DType::kFloat32, {}, constant(1)))}, {number(1)});
  relu(relu(y));
  const std::uint64_t before = failed_captures();
  EXPECT_EQ(
      graphs(),
      (GraphUse{2, 3, 1, {}, {{"aten::_local_scalar_dense", 1, "the host waits for the device"}}}));
  EXPECT_EQ(failed_captures() - before, 1U);
}

TEST_F(PlayedGraphs, SizesThatDependOnValuesCutIt) {
  relu(x_);
  const SlotId found = builder_.intermediate(DType::kInt64, {4, 1});
  builder_.add_op(kNonzero, {ref(x_)}, {ref(found)});
  builder_.add_op("aten::neg(Tensor self) -> Tensor", {ref(found)},
                  {ref(builder_.intermediate(DType::kInt64, {4, 1}))});
  EXPECT_EQ(graphs(), (GraphUse{2,
                                2,
                                0,
                                {},
                                {{"aten::nonzero", 1,
                                  "the host waits for values that decide its results' sizes"}}}));
}

TEST_F(PlayedGraphs, RandomNumbersDoNot) {
  builder_.add_op(
      "aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> "
      "Tensor(a!)",
      {ref(x_), real(0.5), none()}, {ref(x_)});
  EXPECT_EQ(graphs(), (GraphUse{1, 1, 0, {}, {}}));
}

TEST_F(PlayedGraphs, TensorsThatNoStepMakesDoNot) {
  relu(tensor());
  EXPECT_EQ(graphs(), (GraphUse{1, 1, 0, {}, {}}));
}

TEST_F(PlayedGraphs, OperatorsOnTheCpuCutIt) {
  relu(x_);
  const SlotId host = on_host(external());
  builder_.add_op(kRelu, {ref(host)}, {ref(on_host(tensor()))});
  relu(x_);
  EXPECT_EQ(graphs(), (GraphUse{2, 2, 0, {}, {{"aten::relu", 1, "it runs on the CPU"}}}));
}

TEST_F(PlayedGraphs, CommunicationCutsIt) {
  const SlotId sum = tensor();
  const SlotId y = relu(x_);
  builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(y)}, {ref(sum)});
  relu(sum);
  EXPECT_EQ(
      graphs(),
      (GraphUse{2, 2, 0, {}, {{"allreduce", 1, "the host starts communication and watches it"}}}));
}

TEST_F(PlayedGraphs, AStepThatIsOnlyPreventedHasNone) {
  builder_.add_op(kItem, {ref(builder_.external(DType::kFloat32, {}, constant(1)))}, {number(1)});
  EXPECT_EQ(graphs().graphs, 0U);
}

TEST_F(PlayedGraphs, TheOriginalsGraphsAreItsDefault) {
  relu(x_);
  EXPECT_EQ(replay({}).report.graphs, GraphUse());
  builder_.program().profile.emplace().graph_run = "graphs.json";
  EXPECT_EQ(replay({}).report.graphs.graphs, 1U);
  EXPECT_EQ(replay(Streams::kOne).report.graphs, GraphUse());
  EXPECT_EQ(
      replay({}, [](ReplayOptions& options) { options.pace = Pace::kRecorded; }).report.graphs,
      GraphUse());
}

TEST_F(PlayedGraphs, ThePeakIsThatOfAnIterationWithoutThem) {
  relu(relu(relu(x_)));
  const et_schema::RankReport without = replay(Streams::kOne).report;
  const et_schema::RankReport with = replay(Streams::kGraph).report;
  // LibTorch until 2.14 keeps its generators' states on the GPU.
  constexpr std::uint64_t kGenerator = 2048;
  EXPECT_GE(with.memory.peak_bytes, without.memory.peak_bytes);
  EXPECT_LE(with.memory.peak_bytes, without.memory.peak_bytes + kGenerator);
}

TEST_F(PlayedGraphs, OptionsOfSingleOperatorsAreRefused) {
  relu(x_);
  builder_.program().profile.emplace();
  const auto refused = [&](const std::function<void(ReplayOptions&)>& change) {
    return testing_errors::error_of(et_schema::ErrorKind::kUsage,
                                    [&] { return replay(Streams::kGraph, change); });
  };
  const auto text = [](const char* got) {
    return told("the iteration cannot run as CUDA graphs", "field: --streams graph",
                "expected: --device cuda, LibTorch 2.8 or later, and no pace or slowdown of single "
                "operators",
                "got: " + std::string(got),
                "hint: A graph issues all of its operators at once: leave one of the options out.");
  };
  EXPECT_EQ(refused([](ReplayOptions& options) { options.pace = Pace::kRecorded; }),
            text("--pace recorded"));
  EXPECT_EQ(refused([](ReplayOptions& options) {
              options.slow = PlantedSlowdown{"elementwise", 10};
            }),
            text("--slow"));
  EXPECT_EQ(refused([](ReplayOptions& options) { options.device = "cpu"; }), text("--device cpu"));
}

// x → host → host + host → y → z: graphs copy x and z, the host computes between them.
TEST_F(PlayedGraphs, StepsBetweenThemUseTheMemoryThatTheyRead) {
  const c10::Device device = open_device("cuda", {});
  const SlotId a = external();
  const SlotId host = on_host(tensor());
  const SlotId twice = on_host(tensor());
  const SlotId back = tensor();
  const SlotId z = external();
  const auto copy = [&](SlotId to, SlotId from) {
    builder_.add_op(kCopyInPlace, {ref(to), ref(from), flag(false)}, {ref(to)});
  };
  const auto move = [&](SlotId to, SlotId from, et_schema::Device device) {
    const et_schema::Argument where = {et_schema::Argument::DeviceRef{device}};
    builder_.add_op(kToCopy, {ref(from), none(), none(), where, none(), flag(false), none()},
                    {ref(to)});
  };
  copy(a, x_);
  move(host, a, {et_schema::DeviceType::kCpu, -1});
  builder_.add_op(kAdd, {ref(host), ref(host), number(1)}, {ref(twice)});
  move(back, twice, {et_schema::DeviceType::kCuda, 0});
  copy(z, back);
  const et_schema::Program& program = builder_.program();
  const auto backend = backends::make_single_backend({});
  Decisions decisions(program, {device, Only::kAll, {}, {}});
  BoundProgram bound = bind_program(decisions, {{"world", 0, 1}}, {});
  Machine machine(program, *backend);
  machine.connect(bound, device);
  for (const SlotId slot : {x_, a, z}) {
    machine.slots()[slot] = at::zeros({4}, at::TensorOptions().device(device));
  }
  machine.prime(bound);
  synchronize(device);
  GraphedIteration graphs(program, bound, machine, device);
  graphs.try_steps();
  graphs.capture();
  EXPECT_EQ(graphs.use({}).graphs, 2U);
  for (const float value : {3.0F, 5.0F}) {
    // Kernels do not compute here, but copies copy.
    machine.slots()[x_].copy_(at::full({4}, value));
    graphs.run();
    EXPECT_EQ(machine.slots()[z].cpu()[0].item<float>(), 2 * value);
  }
  graphs.release();
}

TEST(DeviceGraphs, AFailedCaptureLeavesLibTorchReadyForAnother) {
  const c10::Device device = open_device("cuda", {});
  const c10::impl::VirtualGuardImpl guard(device.type());
  const c10::Stream before = guard.exchangeStream(guard.getNewStream(device));
  const at::Tensor tensor = at::zeros({4}, at::TensorOptions().device(device));
  synchronize(device);
  ASSERT_TRUE(DeviceGraph::is_available());
  for (int i = 0; i < 3; ++i) {
    DeviceGraph failing(device);
    EXPECT_THROW(static_cast<void>(tensor.cpu()), c10::Error);
    failing.abandon();
    EXPECT_NO_THROW(static_cast<void>(tensor.cpu()));
    DeviceGraph graph(device);
    static_cast<void>(tensor.clone());
    graph.end();
    EXPECT_EQ(graph.nodes(), 1U);
    EXPECT_NO_THROW(graph.launch());
  }
  guard.exchangeStream(before);
}

}  // namespace
}  // namespace understudy::replayer::testing
