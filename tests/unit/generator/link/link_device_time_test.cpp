// All device time of a step that is not communication's stands in an instruction, or in a row that
// says why not: on real profiles, and on some whose links are broken on purpose.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "et_schema/formats/kineto/profile_files.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "generator/job/generate.h"
#include "generator/link/device.h"
#include "generator/link/device_time.h"
#include "generator/link/host.h"
#include "generator/link/link.h"
#include "generator/link/names.h"
#include "small_profile.h"

namespace understudy::generator {
namespace {

using et_schema::Outside;
using et_schema::RecordedProfile;
using et_schema::Trace;

/// All device time in the file, by durations alone.
std::int64_t all_device_ns(const Profile& profile) {
  std::int64_t sum = 0;
  for (const KinetoEvent& event : profile.events) {
    sum += is_device_work(event) ? event.dur_ns : 0;
  }
  return sum;
}

/// What a step's device time was divided into.
struct Divided {
  RecordedProfile profile;
  std::int64_t instructions_ns = 0;
  std::int64_t communication_ns = 0;
  std::map<Outside, std::int64_t> outside_ns = {};

  [[nodiscard]] std::int64_t all_ns() const {
    return std::accumulate(outside_ns.begin(), outside_ns.end(), instructions_ns + communication_ns,
                           [](std::int64_t sum, const auto& row) { return sum + row.second; });
  }
};

Divided divide(Trace trace, const Profile& profile, const std::optional<std::string>& step = {}) {
  const Link linked = link(trace, profile, {.step = step});
  std::int64_t communication_ns = 0;
  for (et_schema::NodeIndex node = 1; node < trace.nodes.size(); ++node) {
    if (linked.nodes[node] && linked.nodes[node]->communicates) {
      communication_ns += own_device_ns(trace, linked, node);
    }
  }
  std::vector<Trace> traces;
  traces.push_back(std::move(trace));
  GenerateOptions options;
  options.partial = PartialRanks::kAllowed;
  options.step = step;
  const et_schema::Program program =
      std::move(generate(traces, options, {linked}).programs.front());
  Divided divided{*program.profile, 0, communication_ns};
  for (const et_schema::Instruction& instruction : program.instructions) {
    divided.instructions_ns +=
        instruction.timing && !instruction.comm ? instruction.timing->device_ns : 0;
  }
  for (const et_schema::OutsideTime& row : program.profile->outside) {
    divided.outside_ns[row.why] += row.device_ns;
  }
  EXPECT_EQ(divided.profile.operators_device_ns, divided.all_ns() - communication_ns);
  return divided;
}

TEST(DeviceTime, OfProfilesOfOneRunIsNamedToTheLastNanosecond) {
  const std::string add = kProfiles + "/benchmark_simple_add_";
  const Profile of_add = one_profile(add + "trace.json.gz");
  EXPECT_EQ(divide(one_trace(add + "et.json.gz"), of_add).all_ns(), all_device_ns(of_add));

  const Profile of_resnet = one_profile(kProfiles + "/resnet_2gpu_kineto_rank0.json.gz");
  for (const char* trace : {"1.0.3.json.gz", "1.1.1.json.tar.gz"}) {
    SCOPED_TRACE(trace);
    const Divided resnet =
        divide(one_trace(kSamples + "/resnet_ddp/resnet_1gpu_et_" + trace), of_resnet, "all");
    EXPECT_EQ(resnet.all_ns(), all_device_ns(of_resnet));
    EXPECT_GT(resnet.communication_ns, 0);
  }

  std::vector<Trace> traces =
      et_schema::read_traces({kSamples + "/dlrm_8gpu/dlrm_pytorch_et.tar.gz"});
  et_schema::read_profiles(
      {kSamples + "/dlrm_8gpu/dlrm_kineto.tar.gz"}, 8, [&](int rank, Profile&& profile) {
        SCOPED_TRACE(rank);
        const Divided dlrm = divide(std::move(traces.at(static_cast<std::size_t>(rank))), profile);
        // The profiles of two ranks begin with kernels of the step before.
        const std::int64_t before_ns = rank == 1 ? 203'000 : rank == 3 ? 176'000 : 0;
        EXPECT_EQ(dlrm.all_ns() + before_ns, all_device_ns(profile));
        EXPECT_FALSE(dlrm.outside_ns.contains(Outside::kUnlinked));
      });
}

TEST(DeviceTime, OfAProfileAloneIsAnOperatorsOrHasAReason) {
  std::size_t profiles = 0;
  for (const auto& file : std::filesystem::directory_iterator(kProfiles)) {
    const std::string path = file.path().string();
    if (!path.ends_with(".json.gz") || path.ends_with("_et.json.gz")) {
      continue;
    }
    SCOPED_TRACE(path);
    ++profiles;
    const Profile profile = one_profile(path);
    NameTable names;
    const HostEvents host = host_events(profile, names);
    const et_schema::DeviceTimeline device = et_schema::device_timeline(profile);
    std::int64_t linked_ns = 0;
    std::uint64_t linked = 0;
    for (const et_schema::DeviceEvent& event : device.events) {
      if (host.event_of(event.launcher) != kNoEvent) {
        linked_ns += event.ns();
        ++linked;
      }
    }
    std::int64_t lost_ns = 0;
    std::uint64_t lost = 0;
    for (const et_schema::LostDeviceEvents& row : unlinked_events(device, host)) {
      lost += row.count;
      lost_ns += row.device_ns;
      EXPECT_FALSE(row.reason.empty());
    }
    EXPECT_EQ(linked_ns + lost_ns, all_device_ns(profile));
    EXPECT_EQ(linked + lost, device.total());
    EXPECT_EQ(device.lost_work(), 0U);
    EXPECT_EQ(device.clipped, 0U);
  }
  EXPECT_GE(profiles, 3U);
}

// ---- a profile of many steps: each node's figure is a median

Trace linear() {
  return one_trace(kSamples + "/linear/linear_et.json.gz");
}

Profile linear_profile() {
  return one_profile(kProfiles + "/linear_kineto.json.gz");
}

constexpr double kSteps = 40;
/// The sum of medians over steps is not the median of the sum.
constexpr double kOfMedians = 0.01;

void expect_all_of(const Profile& profile, const Divided& divided) {
  const double step_ns = static_cast<double>(all_device_ns(profile)) / kSteps;
  EXPECT_NEAR(static_cast<double>(divided.all_ns()), step_ns, kOfMedians * step_ns);
}

TEST(DeviceTime, OfManyStepsIsNamed) {
  const Profile profile = linear_profile();
  const Divided whole = divide(linear(), profile);
  expect_all_of(profile, whole);
  EXPECT_TRUE(whole.outside_ns.empty() ||
              whole.outside_ns == (std::map<Outside, std::int64_t>{{Outside::kOpened, 0}}));
}

TEST(DeviceTime, LaunchedUnderALabelIsTheLabels) {
  Trace trace = linear();
  for (et_schema::Node& node : trace.nodes) {
    if (node.name == "aten::mm") {
      node.op_schema = {};  // as an autograd.Function's forward shows
    }
  }
  const Profile profile = linear_profile();
  const Divided divided = divide(std::move(trace), profile);
  expect_all_of(profile, divided);
  const double label = static_cast<double>(divided.outside_ns.at(Outside::kLabel));
  EXPECT_NEAR(label / static_cast<double>(divided.all_ns()), 0.47, 0.005);
  for (const et_schema::OutsideTime& row : divided.profile.outside) {
    EXPECT_TRUE(row.why != Outside::kLabel || row.name == "aten::mm") << row.name;
  }
}

TEST(DeviceTime, WhoseLaunchIsLostIsUnlinked) {
  Profile profile = linear_profile();
  for (KinetoEvent& event : profile.events) {
    if (event.category == KinetoCategory::kRuntime && event.correlation % 2 == 0) {
      event.correlation = 0;
    }
  }
  const Divided divided = divide(linear(), profile);
  expect_all_of(profile, divided);
  EXPECT_GT(divided.outside_ns.at(Outside::kUnlinked), divided.all_ns() / 4);
}

TEST(DeviceTime, OfAGraphLaunchedInNoOperatorIsTheGraphs) {
  for (const bool in_label : {false, true}) {
    SCOPED_TRACE(in_label);
    test::TraceBuilder builder;
    const auto x = test::tensor(1, 11, {4});
    builder.add(2, "MyFunction", "", {}, {});
    builder.add(2, "aten::relu", test::kRelu, {x}, {test::tensor(2, 12, {4})});
    const std::int64_t launched_at = in_label ? 120 : 250;
    std::vector<KinetoEvent> events = {
        event("ProfilerStep#4", 0, 2000, KinetoCategory::kUserAnnotation),
        event("MyFunction", 100, 100),
        event("aten::relu", 300, 100),
        launch(launched_at, 1),
        launch(350, 2),
        device_event("of a graph", 1, 0),
        device_event("of a graph", 1, 0),
        device_event("relu", 2, 0)};
    events[3].name = "cudaGraphLaunch";
    const Divided divided = divide(builder.trace(), profile_of(std::move(events)));
    EXPECT_EQ(divided.instructions_ns, 40);
    EXPECT_EQ(divided.outside_ns, (std::map<Outside, std::int64_t>{{Outside::kGraphLaunch, 80}}));
  }
}

TEST(DeviceTime, OfCommunicationWithoutACallIsNamedByWhatLaunchedIt) {
  test::TraceBuilder builder;
  const test::TestValue x = test::tensor(1, 11, {4});
  builder.add(2, "DeepEP.dispatch", "", {}, {});
  const auto unknown =
      builder.add(2, "c10d::teleport_", "c10d::teleport_(Tensor x) -> Tensor", {x}, {});
  builder.add(unknown, "nccl:teleport", "", {}, {});
  builder.add(2, "aten::relu", test::kRelu, {x}, {test::tensor(2, 12, {4})});
  std::vector<KinetoEvent> events = {
      event("ProfilerStep#4", 0, 2000, KinetoCategory::kUserAnnotation),
      event("DeepEP.dispatch", 100, 100),
      event("c10d::teleport_", 300, 100),
      event("nccl:teleport", 310, 80),
      event("aten::relu", 500, 100),
      launch(120, 1),
      launch(150, 2),
      launch(350, 3),
      launch(550, 4),
      launch(1500, 5),
      device_event("void deep_ep::intranode::dispatch<4, 768>(int4*)", 1, 0),
      device_event("of the label's own", 2, 0),
      device_event("ncclDevKernel_Teleport(ncclDevKernelArgsStorage<4096ul>)", 3, 0),
      device_event("userbuffers_fp16_sum_inplace_gpu_rr", 4, 0),
      device_event("nvshmem_barrier_on_stream", 5, 0)};
  const Trace trace = builder.trace();
  const Profile profile = profile_of(std::move(events));
  const Link linked = link(trace, profile);
  std::vector<Trace> traces;
  traces.push_back(builder.trace());
  const et_schema::Program program = generate(traces, {}, {linked}).programs.front();
  std::map<std::string, std::int64_t> unseen_ns;
  for (const et_schema::OutsideTime& row : program.profile->outside) {
    if (row.why == Outside::kUnseenComm) {
      unseen_ns[row.name] += row.device_ns;
      EXPECT_EQ(row.kernel_classes.front().kernel_class, "communication");
    }
  }
  const std::map<std::string, std::int64_t> expected = {
      {"DeepEP.dispatch", 40}, {"nccl:teleport", 40}, {"unlinked", 40}};
  EXPECT_EQ(unseen_ns, expected);
  EXPECT_EQ(std::ranges::count_if(program.device_work,
                                  [](const et_schema::DeviceWork& work) {
                                    return !work.instruction && work.why == Outside::kUnseenComm;
                                  }),
            3);
  // The label, the operator with a kernel of its own, what nothing launched, and the call.
  EXPECT_EQ(program.losses[et_schema::Loss::kUnknownCommunication], 4U);
}

TEST(DeviceTime, OfOtherStepsIsNotTheSteps) {
  std::vector<KinetoEvent> events;
  for (const std::int64_t begin : {10'000, 20'000}) {
    for (const KinetoEvent& step_event : small_step(begin, 0)) {
      events.push_back(step_event);
    }
    events.push_back(launch(begin + 1990, begin));  // after its operators
    events.push_back(device_event("in none", begin, 0));
  }
  events.push_back(launch(100, 1));  // before the first
  events.push_back(device_event("of no step", 1, 0));
  events.push_back(event("aten::warm_up", 0, 50));
  const Divided divided = divide(small_trace().trace(), profile_of(std::move(events)));
  EXPECT_EQ(divided.outside_ns.at(Outside::kUnlinked), 40) << "a step's, of two";
}

TEST(DeviceTime, LeftOutByAFilterIsNamedSo) {
  std::vector<Trace> traces;
  traces.push_back(linear());
  const Link linked = link(traces[0], linear_profile());
  GenerateOptions options;
  options.exclude = "^aten::mm$";
  const et_schema::Bench whole = generate(traces, {}, {linked});
  const et_schema::Bench part = generate(traces, options, {linked});
  const RecordedProfile& profile = *part.programs[0].profile;
  EXPECT_EQ(profile.operators_device_ns, whole.programs[0].profile->operators_device_ns);
  std::int64_t filtered_ns = 0;
  for (const et_schema::OutsideTime& row : profile.outside) {
    filtered_ns += row.why == Outside::kFiltered ? row.device_ns : 0;
  }
  std::int64_t of_mm_ns = 0;
  for (const et_schema::Instruction& instruction : whole.programs[0].instructions) {
    of_mm_ns += instruction.name == "aten::mm" ? instruction.timing->device_ns : 0;
  }
  EXPECT_EQ(filtered_ns, of_mm_ns);
  EXPECT_GT(filtered_ns, profile.operators_device_ns / 3);
}

/// Share of device time by class and by who launched it, in tenths of a percent.
std::map<std::string, std::int64_t> permille(const std::vector<KernelTime>& kernels) {
  std::map<std::string, std::int64_t> ns;
  std::int64_t all_ns = 0;
  for (const KernelTime& kernel : kernels) {
    all_ns += kernel.device_ns;
    ns[std::string(kernel.kernel_class)] += kernel.device_ns;
    ns[std::string(to_string(kernel.by))] += kernel.device_ns;
  }
  for (auto& [name, sum] : ns) {
    sum = (1000 * sum + all_ns / 2) / all_ns;
  }
  return ns;
}

TEST(KernelTimes, AddUpToAllDeviceTimeOfRealProfiles) {
  std::size_t profiles = 0;
  for (const auto& file : std::filesystem::directory_iterator(kProfiles)) {
    const std::string name = file.path().filename();
    if (!name.ends_with(".json.gz") || name.ends_with("_et.json.gz")) {
      continue;
    }
    const Profile profile = one_profile(file.path());
    const et_schema::DeviceTimeline device = et_schema::device_timeline(profile);
    std::int64_t sum = 0;
    std::uint64_t count = 0;
    for (const KernelTime& kernel : kernel_times(profile, device)) {
      sum += kernel.device_ns;
      count += kernel.count;
    }
    std::uint64_t of_no_step = 0;
    for (const et_schema::DeviceEvent& event : device.events) {
      of_no_step += event.step == et_schema::kUnknownEvent ? 1U : 0U;
      sum += event.step == et_schema::kUnknownEvent ? event.ns() : 0;
    }
    EXPECT_EQ(of_no_step, name == "qwen_0.5b_h100.json.gz" ? 509U : 0U) << name;
    EXPECT_EQ(sum, all_device_ns(profile)) << name;
    std::set<std::uint32_t> events;
    std::size_t listed = 0;
    for (const DeviceCall& call : device_calls(profile, device)) {
      events.insert(call.events.begin(), call.events.end());
      listed += call.events.size();
    }
    EXPECT_EQ(listed, count + of_no_step) << name;
    EXPECT_EQ(events.size(), listed) << name << ": each once";
    EXPECT_EQ(static_cast<std::int64_t>(listed),
              std::ranges::count_if(profile.events, et_schema::is_device_work))
        << name;
    ++profiles;
  }
  EXPECT_GE(profiles, 15U);
}

TEST(DeviceCalls, AreThoseThatDevicesOfTwoMakersShare) {
  const auto names = [](const std::string& name) {
    const Profile profile = one_profile(std::string(kProfiles) + "/" + name + ".json.gz");
    std::set<std::string> found;
    for (const DeviceCall& call : device_calls(profile, et_schema::device_timeline(profile))) {
      found.insert(call.call == nullptr ? "" : std::string(call.call->name));
    }
    return found;
  };
  EXPECT_EQ(names("vit_h100"), names("vit_mi300x")) << "conv2d, not cudnn_ or miopen_convolution";
  EXPECT_TRUE(names("vit_h100").contains("aten::conv2d"));
  EXPECT_TRUE(names("vit_h100").contains("aten::scaled_dot_product_attention"));
}

TEST(KernelTimes, KnowKernelsOfCudaAndRocmByTheirNames) {
  const auto shares = [](const std::string& name) {
    const Profile profile = one_profile(std::string(kProfiles) + "/" + name + ".json.gz");
    std::string text;
    for (const auto& [what, share] :
         permille(kernel_times(profile, et_schema::device_timeline(profile)))) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, share);
    }
    return text;
  };
  EXPECT_EQ(shares("bert_small_h100"),
            "attention 121, copy 7, elementwise 90, index 32, matmul 639, normalization 100, "
            "operator 1000, reduction 12");
  EXPECT_EQ(shares("bert_small_mi300x"),
            "attention 291, copy 6, elementwise 122, index 23, matmul 446, normalization 101, "
            "operator 1000, reduction 11");
  EXPECT_EQ(shares("vit_h100"),
            "attention 100, convolution 80, copy 28, elementwise 101, matmul 600, normalization "
            "91, operator 1000");
  EXPECT_EQ(shares("vit_mi300x"),
            "attention 218, convolution 18, copy 11, elementwise 123, matmul 549, normalization "
            "81, operator 1000");
  EXPECT_EQ(
      shares("qwen_0.5b_h100"),
      "attention 85, copy 228, elementwise 384, index 2, matmul 278, operator 1000, reduction "
      "23");
  EXPECT_EQ(shares("compiled_triton_mi300x"),
            "attention 294, compiled 67, label without operator 67, matmul 640, operator 933");
  EXPECT_EQ(shares("gpu_only_mi210"),
            "convolution 303, copy 157, elementwise 224, matmul 17, normalization 265, pooling 27, "
            "reduction 7, unlinked 1000");
  EXPECT_EQ(shares("alexnet_train"),
            "convolution 77, copy 843, elementwise 25, matmul 40, operator 1000, other 0, pooling "
            "14, random 2");
  EXPECT_EQ(shares("resnet_2gpu_kineto_rank0"),
            "communication 284, convolution 129, copy 109, elementwise 140, label without operator "
            "284, matmul 120, normalization 190, operator 716, optimizer 13, other 0, pooling 14, "
            "reduction 1, softmax 0");
}

/// Two kernels and a copy below their operators, and `ranges` of the range profiler.
Profile counted_profile(const std::string& ranges) {
  return et_schema::parse_kineto(
      R"({"traceEvents": [
      {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":5,"args":{}},
      {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":11,"dur":1,"args":{"correlation":1}},
      {"ph":"X","cat":"cpu_op","name":"aten::copy_","pid":1,"tid":1,"ts":20,"dur":5,"args":{}},
      {"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":1,"ts":21,"dur":1,"args":{"correlation":2}},
      {"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":30,"dur":5,"args":{}},
      {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":1,"tid":1,"ts":31,"dur":1,"args":{"correlation":3}})" +
          ranges + "]}",
      "counted.json");
}

TEST(KernelCounters, RangesAreOfTheLaunchesInTheirOrder) {
  const std::string two =
      R"(,{"ph":"X","cat":"cuda_profiler_range","name":"gemm","pid":0,"tid":0,"ts":1,"dur":9,"args":{"b.sum":2.5,"a.sum":1,"note":"x"}})"
      R"(,{"ph":"X","args":{"a.sum":7},"cat":"cuda_profiler_range","name":"add","pid":0,"tid":0,"ts":10,"dur":9})";
  const Profile profile = counted_profile(two);
  const auto rows = kernel_counters(profile, et_schema::device_timeline(profile));
  ASSERT_EQ(rows.size(), 2U);
  using Sums = et_schema::Counters;
  EXPECT_EQ(rows[0].launcher, "aten::add");
  EXPECT_EQ(rows[0].kernel, "add");
  EXPECT_EQ(rows[0].sums, (Sums{{"a.sum", 7}}));
  EXPECT_EQ(rows[1].launcher, "aten::mm");
  EXPECT_EQ(rows[1].sums, (Sums{{"a.sum", 1}, {"b.sum", 2.5}}));

  const std::string third =
      R"(,{"ph":"X","cat":"cuda_profiler_range","name":"add","pid":0,"tid":0,"ts":19,"dur":9,"args":{"a.sum":2}})";
  const Profile other = counted_profile(two + third);
  const auto unknown = kernel_counters(other, et_schema::device_timeline(other));
  ASSERT_EQ(unknown.size(), 2U);
  EXPECT_EQ(unknown[0].launcher, "") << "three ranges, two launches";
  EXPECT_EQ(unknown[0].count, 2U);
  EXPECT_EQ(unknown[0].sums, (Sums{{"a.sum", 9}}));
}

}  // namespace
}  // namespace understudy::generator
