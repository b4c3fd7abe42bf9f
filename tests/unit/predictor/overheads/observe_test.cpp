#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/input_files.h"
#include "predictor/overheads/overheads.h"

namespace understudy::predictor {
namespace {

using et_schema::KinetoCategory;
using et_schema::Profile;

class ProfileBuilder {
 public:
  ProfileBuilder& add(KinetoCategory category, std::string_view name, std::int64_t begin_ns,
                      std::int64_t end_ns, std::int64_t correlation = -1) {
    et_schema::KinetoEvent event;
    event.category = category;
    event.name = name;
    event.ts_ns = begin_ns;
    event.dur_ns = end_ns - begin_ns;
    event.pid = 1;
    event.tid = 1;
    event.correlation = correlation;
    profile.events.push_back(event);
    return *this;
  }
  Profile profile;
};

/// Two steps of an operator with two launches, one with a wait and one without either; too few
/// events for an observer's cost.
Profile small_profile() {
  ProfileBuilder builder;
  for (const std::int64_t t : {0L, 1000000L}) {
    builder.add(KinetoCategory::kUserAnnotation, "ProfilerStep#1", t, t + 900000)
        .add(KinetoCategory::kCpuOp, "aten::linear", t + 10000, t + 100000)
        .add(KinetoCategory::kCpuOp, "aten::addmm", t + 20000, t + 90000)
        .add(KinetoCategory::kRuntime, "cudaLaunchKernel", t + 30000, t + 35000, t + 1)
        .add(KinetoCategory::kRuntime, "cudaFuncGetAttributes", t + 36000, t + 37000, t + 2)
        .add(KinetoCategory::kRuntime, "cudaLaunchKernel", t + 50000, t + 58000, t + 3)
        .add(KinetoCategory::kCpuOp, "aten::view", t + 112000, t + 114000)
        .add(KinetoCategory::kCpuOp, "aten::item", t + 120000, t + 700000)
        .add(KinetoCategory::kRuntime, "cudaStreamSynchronize", t + 130000, t + 690000, t + 4);
    for (const std::int64_t launch : {1, 3}) {
      builder.add(KinetoCategory::kKernel, "gemm", t + 40000, t + 80000, t + launch);
    }
  }
  return std::move(builder.profile);
}

TEST(Observe, TellsCallsThatLaunchFromOthers) {
  const OverheadSamples samples = observe(small_profile());
  EXPECT_EQ(samples.operators.at("aten::linear").launching_ns, (std::vector<double>{90000, 90000}));
  EXPECT_EQ(samples.operators.at("aten::view").unlaunched_ns, (std::vector<double>{2000, 2000}));
  EXPECT_TRUE(samples.operators.at("aten::item").launching_ns.empty()) << "a wait is no launch";
  EXPECT_FALSE(samples.operators.contains("aten::addmm"));
}

TEST(Observe, GapsAreBetweenOperatorsOfOneAnnotation) {
  // linear to view, view to item; not from one step to the next.
  EXPECT_EQ(observe(small_profile()).gaps_ns, (std::vector<double>{12000, 6000, 12000, 6000}));
}

TEST(Observe, TakesTheObserversCostOut) {
  // Operators of 10 us with one of 4 us in it; 1 us before and 2 us behind each is the profiler's.
  ProfileBuilder builder;
  for (std::int64_t i = 0; i < 100; ++i) {
    const std::int64_t t = i * 20000;
    builder.add(KinetoCategory::kCpuOp, "outer", t, t + 7000)
        .add(KinetoCategory::kCpuOp, "inner", t + 1000, t + 5000);
  }
  const OverheadSamples samples = observe(builder.profile);
  EXPECT_EQ(samples.operators.at("outer").unlaunched_ns.front(), 4000);
  EXPECT_EQ(samples.gaps_ns.front(), 20000 - 7000 - 3000);
}

TEST(Observe, ARealProfile) {
  std::string text;
  et_schema::read_input_files(
      std::string(UNDERSTUDY_PROFILES) + "/resnet_2gpu_kineto_rank0.json.gz",
      et_schema::process_limits(),
      [&](et_schema::InputFile&& file) { text = std::move(file.data); });
  const Profile profile = et_schema::parse_kineto(text, "resnet");
  const HostOverheads host = summarize(observe(profile));
  ASSERT_TRUE(host.operators.contains("aten::conv2d"));
  const Estimate conv = host_time_of(host, "aten::conv2d", true);
  EXPECT_GT(conv.ns, 10000);
  EXPECT_TRUE(conv.modelled);
}

et_schema::Instruction timed(const std::string& name, std::int64_t gap_ns, std::int64_t host_ns,
                             std::uint64_t launches) {
  et_schema::Instruction instruction;
  instruction.name = name;
  instruction.timing =
      et_schema::Timing{.host_ns = host_ns, .gap_ns = gap_ns, .launches = launches};
  return instruction;
}

TEST(Observe, AProgramHasGapsAndOperators) {
  et_schema::Program program;
  program.instructions = {timed("aten::add", 4000, 9000, 1), timed("aten::mm", 500000, 8000, 2)};
  const OverheadSamples samples = observe(program);
  EXPECT_EQ(samples.gaps_ns, (std::vector<double>{4000}));
  EXPECT_EQ(samples.operators.at("aten::mm").launching_ns, (std::vector<double>{8000}));
  const HostOverheads host = summarize(samples);
  EXPECT_EQ(host_time_of(host, "aten::mm", true).ns, 8000);
}

TEST(Observe, OnACpuAnOperatorsTimeIsItsWork) {
  et_schema::Program program;
  program.instructions = {timed("aten::add", 4000, 9000, 0)};
  const OverheadSamples samples = observe(program);
  EXPECT_EQ(samples.gaps_ns.size(), 1U);
  EXPECT_TRUE(samples.operators.empty());
}

}  // namespace
}  // namespace understudy::predictor
