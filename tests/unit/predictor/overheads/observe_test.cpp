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

TEST(Observe, CutsAnOperatorAtItsLaunches) {
  const OverheadSamples samples = observe(small_profile());
  const auto& linear = samples.operators.at("aten::linear");
  EXPECT_EQ(summarize(samples, "python").operators.at("aten::linear").launches,
            (std::vector<std::string>{"cudaLaunchKernel", "cudaLaunchKernel"}));
  EXPECT_EQ(linear.t2_ns, (std::vector<double>{20000, 20000}));
  EXPECT_EQ(linear.t5_ns, (std::vector<double>{15000, 15000}));
  EXPECT_EQ(linear.t3_ns, (std::vector<double>{42000, 42000}));
  EXPECT_EQ(samples.t4_ns.at("cudaLaunchKernel"), (std::vector<double>{5000, 8000, 5000, 8000}));
  EXPECT_EQ(samples.operators.at("aten::view").unlaunched_ns, (std::vector<double>{2000, 2000}));
  EXPECT_FALSE(samples.operators.contains("aten::addmm"));
}

TEST(Observe, AWaitIsNoLaunch) {
  const OverheadSamples samples = observe(small_profile());
  EXPECT_FALSE(samples.t4_ns.contains("cudaStreamSynchronize"));
  EXPECT_TRUE(summarize(samples, "python").operators.at("aten::item").launches.empty());
}

TEST(Observe, GapsAreBetweenOperatorsOfOneAnnotation) {
  // linear to view, view to item; not from one step to the next.
  EXPECT_EQ(observe(small_profile()).t1_ns, (std::vector<double>{12000, 6000, 12000, 6000}));
}

/// `aten::to` copies in some calls only, an operator in backward takes another kernel; the first
/// call is like few others.
TEST(Observe, CallsOfOneOperatorThatLaunchDifferently) {
  ProfileBuilder builder;
  const auto call = [&](std::int64_t t, int launches) {
    builder.add(KinetoCategory::kCpuOp, "aten::to", t, t + 20000 + 10000 * launches);
    for (std::int64_t i = 0; i < launches; ++i) {
      const std::int64_t at = t + 8000 + 10000 * i;
      builder.add(KinetoCategory::kRuntime, "cudaLaunchKernel", at, at + 4000, at)
          .add(KinetoCategory::kKernel, "copy", at + 9000, at + 9500, at);
    }
  };
  call(0, 0);
  for (std::int64_t i = 1; i <= 4; ++i) {
    call(100000 * i, 2);
  }
  const HostOverheads host = summarize(observe(builder.profile), "python");
  const OperatorOverheads& to = host.operators.at("aten::to");
  EXPECT_EQ(to.launches.size(), 2U) << "as most calls, not as the first";
  EXPECT_EQ(to.t5.mean_ns, 6000) << "between launches, no duration of a call";
  EXPECT_EQ(host_time_of(host, "aten::to", 0).ns, 20000);
  EXPECT_EQ(host_time_of(host, "aten::to", 2).ns, 40000);
  EXPECT_EQ(host_time_of(host, "aten::to", 4).ns, 60000);
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
  EXPECT_EQ(samples.t1_ns.front(), 20000 - 7000 - 3000);
}

TEST(Observe, ARealProfile) {
  std::string text;
  et_schema::read_input_files(
      std::string(UNDERSTUDY_PROFILES) + "/resnet_2gpu_kineto_rank0.json.gz",
      et_schema::process_limits(),
      [&](et_schema::InputFile&& file) { text = std::move(file.data); });
  const Profile profile = et_schema::parse_kineto(text, "resnet");
  const HostOverheads host = summarize(observe(profile), "python");
  ASSERT_TRUE(host.t4.contains("cudaLaunchKernel"));
  for (const auto& [kind, t4] : host.t4) {
    EXPECT_EQ(kind.find("Synchronize"), std::string::npos) << kind;
  }
  ASSERT_TRUE(host.operators.contains("aten::conv2d"));
  const OperatorOverheads& conv = host.operators.at("aten::conv2d");
  EXPECT_FALSE(conv.launches.empty());
  EXPECT_GT(conv.t2.mean_ns, 0);
  const Estimate whole = host_time_of(host, "aten::conv2d", 1);
  EXPECT_GT(whole.ns, conv.t2.mean_ns);
  EXPECT_TRUE(whole.modelled);
}

et_schema::Instruction timed(const std::string& name, std::int64_t gap_ns, std::int64_t host_ns,
                             std::uint64_t launches) {
  et_schema::Instruction instruction;
  instruction.name = name;
  instruction.timing =
      et_schema::Timing{.host_ns = host_ns, .gap_ns = gap_ns, .launches = launches};
  return instruction;
}

TEST(Observe, AProgramHasGapsAndWholeOperators) {
  et_schema::Program program;
  program.instructions = {timed("aten::add", 4000, 9000, 1), timed("aten::mm", 500000, 8000, 2)};
  const OverheadSamples samples = observe(program);
  EXPECT_EQ(samples.t1_ns, (std::vector<double>{4000}));
  EXPECT_EQ(samples.operators.at("aten::mm").whole_ns, (std::vector<double>{8000}));
  const HostOverheads host = summarize(samples, "python");
  EXPECT_EQ(host_time_of(host, "aten::mm", 2).ns, 8000);
}

TEST(Observe, OnACpuAnOperatorsTimeIsItsWork) {
  et_schema::Program program;
  program.instructions = {timed("aten::add", 4000, 9000, 0)};
  const OverheadSamples samples = observe(program);
  EXPECT_EQ(samples.t1_ns.size(), 1U);
  EXPECT_TRUE(samples.operators.empty());
}

}  // namespace
}  // namespace understudy::predictor
