// Kernels that a benchmark brings along, launched on the played card (timed_card.h): what the
// driver is asked for, and what takes their place where it is not.

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <utility>

#include "et_schema/formats/bench/bench.h"
#include "on_gpu.h"
#include "program_builder.h"
#include "replayer/device/device.h"
#include "replayer/job/replay.h"
#include "timed_card.h"

namespace understudy::replayer::testing {
namespace {

constexpr const char* kKey = "0123456789abcdef";
constexpr std::int64_t kElements = 1000;

// Of cuda.h: CUlaunchAttributeID.
constexpr unsigned kCooperative = 2;
constexpr unsigned kClusterSize = 4;
constexpr unsigned kClusterScheduling = 5;
constexpr unsigned kDependent = 6;

/// In the place of machine code: a driver compiles it.
constexpr const char* kPtx = R"(
.version 8.0
.target sm_90
.visible .entry kernel(.param .u64 x, .param .u64 y, .param .u32 count, .param .f32 by,
                       .param .b16 half, .param .u64 shift, .param .u64 scratch, .param .u64 more)
{ ret; }
)";

class PlayedKernels : public OnGpu {
 protected:
  void SetUp() override {
    kernel_.key = kKey;
    kernel_.name = "scale";
    kernel_.parameters = {"*fp32", "*fp32", "i32", "fp32", "fp16", "i64"};
    kernel_.builds.emplace_back();
    build().architecture = 90;
    build().function = "kernel";
    build().warps = 4;
    load(kPtx);
    static_cast<void>(timed_card::taken_launches());
  }

  /// As code of this test alone: each is loaded once in a process.
  void load(const std::string& code) {
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    build().cubin.bytes = std::make_shared<const std::string>(code + "// " + test);
  }
  et_schema::KernelBuild& build() { return kernel_.builds.front(); }

  /// A launch that reads x and for which y was allocated.
  Instruction launch(SlotId x, SlotId y, const std::string& grid = "32 3 2") {
    Instruction launch;
    launch.kind = InstructionKind::kKernel;
    launch.name = "scale";
    launch.node_id = ++nodes_;
    launch.args = {ref(x),
                   undefined(),
                   number(kElements),
                   real(0.5),
                   real(0.25),
                   number(-7),
                   {std::string("r w - - - -")},
                   {"launch " + std::string(kKey) + " " + grid}};
    launch.results = {ref(y)};
    launch.timing.emplace();
    launch.timing->host_ns = 1000;
    return launch;
  }
  RankRun replay() {
    builder_.program().kernels = {kernel_};
    return OnGpu::replay();
  }
  static void expect_stub(const RankRun& run, const std::string& why) {
    EXPECT_TRUE(timed_card::taken_launches().empty());
    ASSERT_EQ(run.report.coverage.stubbed.size(), 1U);
    EXPECT_EQ(run.report.coverage.stubbed[0].note,
              "a stub: it moves the same bytes and takes the recorded time" + why);
  }

  et_schema::CompiledKernel kernel_;
  const SlotId x_ = builder_.external(DType::kFloat32, {kElements}, constant(1));
  const SlotId y_ = builder_.intermediate(DType::kFloat32, {kElements});
  std::uint64_t nodes_ = 0;
};

TEST_F(PlayedKernels, AreLaunchedWithTheirArguments) {
  const SlotId z = builder_.intermediate(DType::kFloat32, {kElements});
  builder_.add(launch(x_, y_));
  builder_.add(launch(y_, z, "1 1 1"));
  build().shared_bytes = 16384;
  const RankRun run = replay();
  ASSERT_EQ(run.report.coverage.substituted.size(), 1U);
  EXPECT_EQ(run.report.coverage.substituted[0].note, "its machine code for sm_90");
  EXPECT_EQ(run.report.coverage.substituted[0].count, 2U);
  EXPECT_EQ(run.report.coverage.replayed, 2U);
  EXPECT_TRUE(run.report.coverage.stubbed.empty());

  const std::vector<timed_card::KernelLaunch> launches = timed_card::taken_launches();
  ASSERT_GE(launches.size(), 8U);
  ASSERT_EQ(launches.size() % 2, 0U);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const bool is_first = i % 2 == 0;
    const timed_card::KernelLaunch& launch = launches[i];
    EXPECT_EQ(launch.function, "kernel");
    EXPECT_EQ(launch.kernel, launches[0].kernel) << "loaded once for both instructions";
    EXPECT_EQ(launch.grid,
              (is_first ? std::array<unsigned, 3>{32, 3, 2} : std::array<unsigned, 3>{1, 1, 1}));
    EXPECT_EQ(launch.block, (std::array<unsigned, 3>{128, 1, 1}));
    EXPECT_EQ(launch.shared_bytes, 16384U);
    EXPECT_EQ(launch.stream, native_stream(open_device("cuda", std::nullopt)));
    EXPECT_TRUE(launch.attributes.empty());
    ASSERT_EQ(launch.arguments.size(), 8U);
    EXPECT_NE(launch.arguments[0], 0U);
    EXPECT_NE(launch.arguments[1], 0U);
    EXPECT_NE(launch.arguments[0], launch.arguments[1]);
    EXPECT_EQ(launch.arguments[2], static_cast<std::uint64_t>(kElements));
    EXPECT_EQ(launch.arguments[3], std::bit_cast<std::uint32_t>(0.5F));
    EXPECT_EQ(launch.arguments[4], 0x3400U) << "0.25 as a half";
    EXPECT_EQ(launch.arguments[5], std::bit_cast<std::uint64_t>(std::int64_t{-7}));
    EXPECT_EQ(launch.arguments[6], 0U) << "no scratch memory";
    EXPECT_EQ(launch.arguments[7], 0U);
    if (is_first) {
      EXPECT_EQ(launches[i + 1].arguments[0], launch.arguments[1])
          << "it reads what the first made";
      EXPECT_EQ(launch.arguments[0], launches[0].arguments[0]) << "the external stays in its place";
    }
  }
}

// The card fails launches with more than 48 KiB of shared memory, or clusters of more than 8
// blocks, of kernels that were not told of them.
TEST_F(PlayedKernels, AreGivenWhatTheirBuildAsksFor) {
  builder_.add(launch(x_, y_));
  build().shared_bytes = 65536;
  build().cluster_blocks = 16;
  build().scratch_bytes = 128;
  build().is_cooperative = true;
  build().is_dependent = true;
  static_cast<void>(replay());
  const std::vector<timed_card::KernelLaunch> launches = timed_card::taken_launches();
  ASSERT_FALSE(launches.empty());
  EXPECT_EQ(launches[0].grid, (std::array<unsigned, 3>{512, 3, 2}));
  EXPECT_EQ(launches[0].attributes,
            (std::vector<std::array<unsigned, 4>>{{kDependent, 1, 0, 0},
                                                  {kCooperative, 1, 0, 0},
                                                  {kClusterSize, 16, 1, 1},
                                                  {kClusterScheduling, 1, 0, 0}}));
  EXPECT_NE(launches[0].arguments[6], 0U);
  EXPECT_EQ(launches[0].arguments[7], 0U);
}

TEST_F(PlayedKernels, WithoutBlocksAreNotLaunched) {
  builder_.add(launch(x_, y_, "0 1 1"));
  const RankRun run = replay();
  EXPECT_EQ(run.report.coverage.substituted.size(), 1U);
  EXPECT_TRUE(timed_card::taken_launches().empty());
}

TEST_F(PlayedKernels, ForOtherGpusAreStubs) {
  builder_.add(launch(x_, y_));
  kernel_.builds.push_back(build());
  kernel_.builds[0].architecture = 80;
  kernel_.builds[1].architecture = 100;
  expect_stub(replay(), "; its machine code is for sm_80, sm_100, and this GPU is sm_90");
}

TEST_F(PlayedKernels, ThatTheDriverDoesNotTakeAreStubs) {
  builder_.add(launch(x_, y_));
  load("");
  expect_stub(replay(), "; CUDA's driver does not take its machine code (status 500)");
}

TEST_F(PlayedKernels, WithOtherArgumentsAreStubs) {
  builder_.add(launch(x_, y_));
  kernel_.parameters.pop_back();
  expect_stub(replay(), "; 6 arguments were recorded for its 5 parameters");
}

TEST_F(PlayedKernels, WhoseResultsCannotBeToldAreStubs) {
  builder_.add(launch(x_, y_)).args[1] = ref(x_);
  expect_stub(replay(), "; it cannot be told which of its arguments are what was allocated for it");
}

TEST_F(PlayedKernels, WithoutMachineCodeAreStubs) {
  builder_.add(launch(x_, y_));
  kernel_.key = "fedcba9876543210";
  expect_stub(replay(), "");
}

}  // namespace
}  // namespace understudy::replayer::testing
