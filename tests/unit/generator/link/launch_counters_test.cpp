#include "generator/link/launch_counters.h"

#include <gtest/gtest.h>

#include "et_schema/base/input_files.h"
#include "et_schema/facts/counter_formulas.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/original_step.h"
#include "generator/job/generate.h"
#include "generator/profile/trace_of_profile.h"
#include "small_profile.h"
#include "testing/error_text.h"

namespace understudy::generator {
namespace {

using et_schema::CountedKernel;
using et_schema::Counters;

/// The linked step: gemm, add, add.
Link three_kernels() {
  Link link;
  link.kernels = {{1, "gemm"}, {2, "add"}, {3, "add"}};
  return link;
}

CountedKernel counted(const std::string& kernel, double ns, double bytes) {
  return {kernel, {{"gpu__time_duration.sum", ns}, {"dram__bytes.sum", bytes}}};
}

TEST(LaunchCounters, BaseNamesLackWhatProfilersWriteDifferently) {
  for (const auto& [name, base] : std::initializer_list<std::pair<const char*, const char*>>{
           {"ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"},
           {"add(float*, int)", "add"},
           {"void at::native::(anonymous namespace)::max_pool<float, 4>(int, float const*)",
            "max_pool"},
           {"void at::native::elementwise_kernel<(int)4, at::add<float> >(int)",
            "elementwise_kernel"},
           {"void cutlass::Kernel2<tensorop>(tensorop::Params)", "Kernel2"},
           {"void n::f<n::g<int>::{lambda()#1}::operator()() const::{lambda(float)#1}>(int)", "f"},
           {"__missing__", "__missing__"},
           {"", ""}}) {
    EXPECT_EQ(kernel_base_name(name), base) << name;
  }
}

TEST(LaunchCounters, JoinByNameInOrderAndAreOfOneStep) {
  Link link = three_kernels();
  const std::vector<CountedKernel> two_steps = {
      counted("add", 1, 10),   counted("void n::gemm<4>(int)", 5, 100),
      counted("add", 2, 20),   counted("add(int, float)", 3, 30),
      counted("gemm", 7, 300), counted("add", 4, 40)};
  add_counters(two_steps, "c.csv", link);
  EXPECT_EQ(link.kernels[0].counters, (Counters{{"device_ns", 6}, {"dram_bytes", 200}}));
  EXPECT_EQ(link.kernels[1].counters, (Counters{{"device_ns", 2}, {"dram_bytes", 20}}));
  EXPECT_EQ(link.kernels[2].counters, (Counters{{"device_ns", 3}, {"dram_bytes", 30}}));
  EXPECT_EQ(link.losses[et_schema::Loss::kUnjoinedCounters], 0U);
}

TEST(LaunchCounters, SharesAreMeansByTime) {
  Link link = three_kernels();
  const auto active = [](double ns, double percent) {
    return CountedKernel{"gemm",
                         {{"gpu__time_duration.sum", ns},
                          {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", percent}}};
  };
  add_counters(std::vector{active(10, 100), active(30, 20)}, "c.csv", link);
  EXPECT_EQ(link.kernels[0].counters, (Counters{{"device_ns", 20}, {"sm_active", 0.4}}));
}

TEST(LaunchCounters, OtherPassesAddOtherCounters) {
  Link link = three_kernels();
  add_counters(std::vector<CountedKernel>{{"gemm", {{"FETCH_SIZE", 1}}}}, "1.csv", link);
  add_counters(std::vector<CountedKernel>{{"gemm", {{"WRITE_SIZE", 2}}}}, "2.csv", link);
  EXPECT_EQ(link.kernels[0].counters,
            (Counters{{"dram_read_bytes", 1024}, {"dram_write_bytes", 2048}}));
}

TEST(LaunchCounters, KernelsOfNoWholeStepAreALoss) {
  Link link = three_kernels();
  add_counters(std::vector{counted("gemm", 1, 1), counted("fill", 1, 1), counted("add", 1, 1),
                           counted("add", 1, 1), counted("add", 1, 1)},
               "c.csv", link);
  EXPECT_FALSE(link.kernels[0].counters.empty());
  EXPECT_TRUE(link.kernels[1].counters.empty());
  EXPECT_EQ(link.losses[et_schema::Loss::kUnjoinedCounters], 4U);
}

TEST(LaunchCounters, NamesWithAnotherNumberOfStepsAreALoss) {
  Link link = three_kernels();
  add_counters(std::vector{counted("gemm", 1, 1), counted("gemm", 1, 1), counted("gemm", 1, 1),
                           counted("add", 1, 1), counted("add", 1, 1)},
               "c.csv", link);
  EXPECT_EQ(link.kernels[0].counters.at("device_ns"), 1);
  EXPECT_TRUE(link.kernels[1].counters.empty()) << "three steps of gemm, one of add";
  EXPECT_EQ(link.losses[et_schema::Loss::kUnjoinedCounters], 2U);
}

TEST(LaunchCounters, OfAnotherProgramAreRefused) {
  Link link = three_kernels();
  EXPECT_EQ(error_of([&] {
              add_counters(std::vector{counted("add", 1, 1), counted("fill", 1, 1)}, "c.csv", link);
              return 0;
            }),
            told("counters of other kernels than the linked step's", "file: c.csv",
                 "field: --counters", "expected: launches of add as the step has, 2, or a multiple",
                 "got: 1, and no other kernel fits",
                 "hint: count whole steps of the program that was profiled; "
                 "understudy inspect --device-time shows counters by kernel"));
}

/// A step of two operators, which launch a kernel each.
std::vector<et_schema::KinetoEvent> launching_step(std::int64_t begin, std::int64_t correlation) {
  std::vector<et_schema::KinetoEvent> events = small_step(begin, 100);
  events.push_back(launch(begin + 350, correlation));
  events.push_back(launch(begin + 950, correlation + 1));
  return events;
}

et_schema::Profile with_kernels() {
  std::vector<et_schema::KinetoEvent> events = launching_step(0, 1);
  for (const std::int64_t correlation : {1, 2}) {
    events.push_back(device_event("void n::clamp<float>(int)", correlation, 0));
    events.back().ts_ns += 100 * correlation;
  }
  return profile_of(std::move(events));
}

/// The program of the small trace with this link, written and read again.
et_schema::Program program_with(Link link) {
  std::vector<et_schema::Trace> traces;
  traces.push_back(small_trace().trace());
  std::vector<Link> links;
  links.push_back(std::move(link));
  const et_schema::Bench made = generate(traces, {}, links);
  const std::string bytes = et_schema::bench_bytes(made, "b.et");
  return et_schema::read_bench_bytes(bytes, "b.et").programs.front();
}

TEST(LaunchCounters, ReachTheReportByOperator) {
  const et_schema::Trace trace = small_trace().trace();
  Link link = generator::link(trace, with_kernels());
  ASSERT_EQ(link.kernels.size(), 2U);
  add_counters(std::vector{counted("clamp", 3, 30), counted("clamp", 4, 40)}, "c.csv", link);
  const et_schema::Program program = program_with(std::move(link));
  const Counters sum = {{"device_ns", 7}, {"dram_bytes", 70}};
  const std::map<std::string, Counters> expected = {{"aten::relu", sum}};
  EXPECT_EQ(program.profile.value().operator_counters, expected);
  std::vector<et_schema::OperatorTime> operators(2);
  operators[1].name = "aten::relu";
  et_schema::add_recorded_counters(program, operators);
  EXPECT_TRUE(operators[0].recorded_counters.empty());
  EXPECT_EQ(operators[1].recorded_counters, sum);
  const auto all = [](const et_schema::Instruction&) { return true; };
  EXPECT_EQ(et_schema::original_step(program, all).counters, sum);
}

TEST(LaunchCounters, OfSomeKernelsAreNoSum) {
  const et_schema::Trace trace = small_trace().trace();
  Link link = generator::link(trace, with_kernels());
  link.kernels[0].counters = {{"flop", 1}};
  link.profile.counters = {{"cpu_ms", 2.5}};
  const et_schema::Program program = program_with(std::move(link));
  const std::map<std::string, Counters> expected = {{"aten::relu", {}}};
  EXPECT_EQ(program.profile.value().operator_counters, expected);
  const auto all = [](const et_schema::Instruction&) { return true; };
  EXPECT_EQ(et_schema::original_step(program, all).counters, (Counters{{"cpu_ms", 2.5}}));
}

TEST(LaunchCounters, RangesOfSeveralStepsAreThoseOfOne) {
  std::vector<et_schema::KinetoEvent> events = launching_step(0, 1);
  const std::vector<et_schema::KinetoEvent> second = launching_step(5000, 3);
  events.insert(events.end(), second.begin(), second.end());
  et_schema::Profile profile = profile_of(std::move(events));
  profile.ranges = {counted("clamp", 1, 10), counted("clamp", 2, 20), counted("clamp", 3, 30),
                    counted("clamp", 4, 40)};
  const et_schema::Trace trace = small_trace().trace();
  const et_schema::Program program = program_with(generator::link(trace, profile));
  const std::map<std::string, Counters> expected = {
      {"aten::relu", {{"device_ns", 5}, {"dram_bytes", 50}}}};
  EXPECT_EQ(program.profile.value().operator_counters, expected);

  profile.ranges.pop_back();
  EXPECT_TRUE(generator::link(trace, profile).kernels.empty()) << "four launches, three ranges";
}

TEST(LaunchCounters, AllRangesOfTheA100AreJoined) {
  et_schema::Profile profile;
  et_schema::read_input_files(
      kProfiles + "/cupti_counters_a100.json.gz", {}, [&](const et_schema::InputFile& file) {
        profile =
            et_schema::parse_kineto(file.data, file.name, et_schema::KinetoDetail::kArguments);
      });
  const auto know_nothing = [](std::span<const AskedCall> calls) {
    return std::vector<et_schema::CallResults>(calls.size(), {{}, {}, "no shapes"});
  };
  const et_schema::Trace trace = trace_of_profile(profile, know_nothing, "all");
  const Link link = generator::link(trace, profile);
  ASSERT_EQ(link.kernels.size(), 77U);
  std::map<std::string_view, int> launches;
  for (std::size_t i = 0; i < link.kernels.size(); ++i) {
    ASSERT_NE(link.kernels[i].node, et_schema::kNoNode) << i;
    ++launches[trace.nodes[link.kernels[i].node].name];
    EXPECT_EQ(link.kernels[i].counters, et_schema::known_counters(profile.ranges[i].metrics)) << i;
  }
  EXPECT_EQ(launches, (std::map<std::string_view, int>{{"aten::_adaptive_avg_pool2d", 2},
                                                       {"aten::add_", 10},
                                                       {"aten::addmm", 12},
                                                       {"aten::clamp_min_", 14},
                                                       {"aten::cudnn_convolution", 28},
                                                       {"aten::max_pool2d_with_indices", 6},
                                                       {"aten::native_dropout", 4},
                                                       {"aten::uniform_", 1}}));
}

}  // namespace
}  // namespace understudy::generator
