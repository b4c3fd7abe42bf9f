#include "et_schema/formats/kineto/kineto.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "et_schema/formats/json_trace/sniff.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "reader_texts.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

using testing_errors::told;
using testing_texts::error_of;

Profile profile_of(const std::string& json) {
  return parse_kineto(json, "k.json");
}
std::string profile_error(const std::string& json) {
  return error_of([&json] { static_cast<void>(profile_of(json)); });
}

constexpr const char* kEvent =
    R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 2.001, "dur": 1.5, )"
    R"("args": {"External id": 3, "correlation": 4, "stream": 7, "bytes": 9}})";

/// The event, of another category.
std::string replaced_category(const std::string& name) {
  std::string event = kEvent;
  return event.replace(event.find("kernel"), 6, name);
}

std::string file_of(const std::string& events, const std::string& rest = {}) {
  return R"({"schemaVersion": 1, "traceEvents": [)" + events + "]" + rest + "}";
}

TEST(Kineto, MemoryEventsAreKept) {
  const Profile profile = profile_of(file_of(
      kEvent +
          std::string(
              R"(, {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", )"
              R"("pid": 1, "tid": 1, "ts": 3.5, "args": {"Bytes": 400, "Addr": 4096}})"
              R"(, {"ph": "i", "name": "[memory]", "ts": 4, "args": {"Bytes": -400, "Addr": 4096}})"
              R"(, {"ph": "i", "name": "a mark", "ts": 5, "args": {"Bytes": 1, "Addr": 2}})"
              R"(, {"ph": "i", "name": "[memory]", "ts": 6, "args": {"Bytes": 8}})"),
      R"(, "baseTimeNanoseconds": 1000)"));
  ASSERT_EQ(profile.memory.size(), 2U);
  EXPECT_EQ(profile.memory[0].ts_ns, 4500);
  EXPECT_EQ(profile.memory[0].address, 4096U);
  EXPECT_EQ(profile.memory[0].bytes, 400);
  EXPECT_EQ(profile.memory[1].bytes, -400);
}

TEST(Kineto, FramesOfPythonArePassedOver) {
  const Profile profile = profile_of(file_of(replaced_category("python_function") + "," + kEvent));
  EXPECT_EQ(profile.events.size(), 1U);
}

TEST(Kineto, ControlCharactersOfNamesAreEscapedAndCountedOnce) {
  const std::string event =
      R"({"ph": "X", "cat": "kernel", "name": "k\u001b[2J", "ts": 1, "dur": 1})";
  const Profile profile = profile_of(
      file_of(event + "," + event,
              R"(, "deviceProperties": [{"id": 0, "name": "card\n"}])"
              R"(, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1})"));
  ASSERT_EQ(profile.events.size(), 2U);
  EXPECT_EQ(profile.events[0].name, R"(k\u001b[2J)");
  EXPECT_EQ(profile.events[1].name, R"(k\u001b[2J)");
  EXPECT_EQ(profile.devices.at(0).name, R"(card\u000a)");
  EXPECT_EQ(profile.losses[Loss::kEscapedNames], 2U);
}

TEST(Kineto, ShapesAreReadWhereTheyAreAskedFor) {
  const std::string json =
      file_of(R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, )"
              R"("args": {"grid": [2, 1, 1], "stream": 7, "block": [128, 1, 1]}}, )"
              R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 1, )"
              R"("args": {"Input Dims": [[4, 8], []], "Input type": ["float", ""]}}, )" +
              std::string(kEvent));
  const Profile with = parse_kineto(json, "k.json", KinetoDetail::kShapes);
  ASSERT_EQ(with.events.size(), 3U);
  EXPECT_EQ(with.events[0].shape, "[2,1,1][128,1,1]");
  EXPECT_EQ(with.events[1].shape, "[[4,8],[]]");
  EXPECT_EQ(with.events[2].shape, "");
  for (const KinetoEvent& event : profile_of(json).events) {
    EXPECT_EQ(event.shape, "");
  }
}

TEST(Kineto, ArgumentsAreReadWhereTheyAreAskedFor) {
  const std::string json = file_of(
      R"({"ph": "X", "cat": "cpu_op", "name": "aten::cat", "ts": 1, "dur": 1, "args": )"
      R"({"Concrete Inputs": ["", "-1", "", "[1, 2]"], )"
      R"("Input Strides": [[[4, 1], [2, 1]], [], [1, 3]], )"
      R"("Input type": ["TensorList", "Scalar", "c10::BFloat16", "ScalarList", "", "TensorList"], )"
      R"("Input Dims": [[[3, 4], [3, 2]], [], [3, 5], [], [], []]}}, )"
      R"({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 1, "dur": 1, "args": )"
      R"({"Collective name": "all_to_allv", "In msg nelems": 3, "Out split size": "[1, 2]", )"
      R"("Process Group Description": "default_pg", "Global rank stride": 1}}, )" +
      std::string(kEvent));
  const Profile profile = parse_kineto(json, "k.json", KinetoDetail::kArguments);
  const std::span<const KinetoArgument> arguments = profile.events.at(0).arguments;
  ASSERT_EQ(arguments.size(), 6U);
  const auto numbers = [](std::span<const std::int64_t> values) {
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  using Numbers = std::vector<std::int64_t>;
  ASSERT_EQ(arguments[0].layouts.size(), 2U);
  EXPECT_EQ(arguments[0].type, "TensorList");
  EXPECT_EQ(numbers(arguments[0].layouts[1].sizes), (Numbers{3, 2}));
  EXPECT_EQ(numbers(arguments[0].layouts[1].strides), (Numbers{2, 1}));
  EXPECT_EQ(arguments[1].value, "-1");
  EXPECT_EQ(arguments[2].type, "c10::BFloat16");
  EXPECT_EQ(numbers(arguments[2].layouts.front().strides), (Numbers{1, 3}));
  EXPECT_EQ(arguments[3].value, "[1, 2]");
  EXPECT_EQ(arguments[4].value, "") << "the list of values ends before";
  EXPECT_TRUE(arguments[5].layouts.empty()) << "a list that is too long for Kineto";
  EXPECT_TRUE(profile.comms.empty());
  ASSERT_EQ(profile.host_comms.size(), 1U);
  EXPECT_EQ(profile.host_comms[0].event, 1U);
  EXPECT_EQ(profile.host_comms[0].out_splits, "[1, 2]");
  EXPECT_EQ(profile.host_comms[0].group_description, "default_pg");
  EXPECT_EQ(profile.host_comms[0].global_rank_stride, 1);
  EXPECT_TRUE(profile_of(json).events.at(0).arguments.empty());
}

TEST(Kineto, ValuesBehindTheLastTypeAreScalars) {
  const Profile profile = parse_kineto(
      file_of(R"({"ph": "X", "cat": "cpu_op", "name": "aten::sum", "ts": 1, "dur": 1, "args": )"
              R"({"Input type": ["Float"], "Input Dims": [[2, 3]], )"
              R"json("Concrete Inputs": ["", "(0, 1)", "False", ""]}})json"),
      "k.json", KinetoDetail::kArguments);
  std::vector<std::string> arguments;
  for (const KinetoArgument& argument : profile.events.at(0).arguments) {
    arguments.push_back(fmt::format("{}:{}", argument.type, argument.value));
  }
  EXPECT_EQ(arguments,
            (std::vector<std::string>{"Float:", "ScalarList:[0, 1]", "Scalar:False", ":"}));
}

TEST(Kineto, FieldsOfAnEvent) {
  const Profile profile = profile_of(file_of(
      kEvent + std::string(R"(, {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 11, )"
                           R"("tid": 12, "ts": 1689180448563241, "dur": 595, "args": )"
                           R"({"Record function id": 8, "Sequence number": 65}})")));
  ASSERT_EQ(profile.events.size(), 2U);
  const KinetoEvent& kernel = profile.events[0];
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.category, KinetoCategory::kKernel);
  EXPECT_EQ(kernel.ts_ns, 2001);
  EXPECT_EQ(kernel.dur_ns, 1500);
  EXPECT_EQ(kernel.pid, 0);
  EXPECT_EQ(kernel.tid, 7);
  EXPECT_EQ(kernel.external_id, 3);
  EXPECT_EQ(kernel.correlation, 4);
  EXPECT_EQ(kernel.stream, 7);
  EXPECT_EQ(kernel.bytes, 9);
  EXPECT_EQ(kernel.rf_id, -1);
  const KinetoEvent& op = profile.events[1];
  EXPECT_EQ(op.category, KinetoCategory::kCpuOp);
  EXPECT_EQ(op.ts_ns, 1689180448563241000);
  EXPECT_EQ(op.dur_ns, 595000);
  EXPECT_EQ(op.rf_id, 8);
  EXPECT_EQ(op.sequence, 65);
  EXPECT_EQ(op.external_id, -1);
  EXPECT_EQ(profile.schema_version, 1);
}

KinetoCategory category_of(const std::string& name) {
  return profile_of(file_of(replaced_category(name))).events[0].category;
}

TEST(Kineto, KernelsSayWhatTheyCommunicate) {
  const std::string facts =
      R"("args": {"stream": 20, "Collective name": "allreduce", "In msg nelems": 2049000, )"
      R"("Out msg nelems": 2049001, "Group size": 2, "dtype": "Float", "Process Group Name": "0", )"
      R"("Process Group Ranks": "[0, 1]"}})";
  const std::string operators = R"({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", )";
  const std::string kernel = R"({"ph": "X", "name": "ncclKernel", "ts": 3, )";
  // The category may stand behind what it decides on.
  const Profile profile =
      profile_of(file_of(operators + facts + "," + kernel + facts.substr(0, facts.size() - 1) +
                         R"(, "cat": "kernel"})" + "," + kEvent));
  ASSERT_EQ(profile.comms.size(), 1U);
  const KinetoComm& comm = profile.comms[0];
  EXPECT_EQ(profile.events[comm.event].name, "ncclKernel");
  EXPECT_EQ(comm.name, "allreduce");
  EXPECT_EQ(comm.dtype, "Float");
  EXPECT_EQ(comm.in_elements, 2049000);
  EXPECT_EQ(comm.out_elements, 2049001);
  EXPECT_EQ(comm.ranks_in_group, 2);
  EXPECT_EQ(comm.group, "0");
  EXPECT_EQ(comm.ranks, "[0, 1]");
}

TEST(Kineto, EveryAcceleratorsWordsForTheSameThings) {
  for (const char* launch :
       {"cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "xpu_driver", "mtia_runtime",
        "privateuse1_runtime", "privateuse1_driver", "glow_runtime", "runtime", "driver"}) {
    EXPECT_EQ(category_of(launch), KinetoCategory::kRuntime) << launch;
  }
  EXPECT_EQ(category_of("mtia_ccp_events"), KinetoCategory::kKernel);
  EXPECT_EQ(category_of("npu_kernel"), KinetoCategory::kKernel);
  EXPECT_EQ(category_of("gcu_memcpy"), KinetoCategory::kGpuMemcpy);
  EXPECT_EQ(category_of("gcu_memset"), KinetoCategory::kGpuMemset);
}

TEST(Kineto, WordsOfOlderVersions) {
  EXPECT_EQ(category_of("Operator"), KinetoCategory::kCpuOp);
  EXPECT_EQ(category_of("Kernel"), KinetoCategory::kKernel);
  EXPECT_EQ(category_of("Runtime"), KinetoCategory::kRuntime);
  EXPECT_EQ(category_of("Memcpy"), KinetoCategory::kGpuMemcpy);
  const Profile profile = parse_kineto(
      file_of(
          R"({"ph": "X", "cat": "Operator", "name": "ProfilerStep#4", "ts": "10.5", "dur": 20},)"
          R"({"ph": "X", "cat": "Operator", "name": "aten::relu", "ts": 12, "dur": "3",)"
          R"( "args": {"Input dims": [[4]], "Input type": ["float"]}})"),
      "k.json", KinetoDetail::kArguments);
  EXPECT_EQ(profile.events[0].category, KinetoCategory::kUserAnnotation);
  EXPECT_EQ(profile.events[0].ts_ns, 10'500);
  EXPECT_EQ(profile.events[1].dur_ns, 3'000);
  EXPECT_EQ(profile.events[1].arguments[0].layouts[0].sizes[0], 4);
}

TEST(Kineto, EventsOnADeviceOfAnUnknownCategoryAreCounted) {
  const auto unknown = [](const std::string& name) {
    return profile_of(file_of(replaced_category(name) + "," + kEvent))
        .losses[Loss::kUnknownDeviceEvents];
  };
  EXPECT_EQ(unknown("tpu_work"), 1U);
  EXPECT_EQ(unknown("kernel"), 0U);
  EXPECT_EQ(unknown("gpu_user_annotation"), 0U);
  EXPECT_EQ(unknown("cuda_sync"), 0U);
  EXPECT_EQ(unknown("mtia_insight"), 0U);
  EXPECT_EQ(profile_of(
                file_of(std::string(kEvent) +
                        R"(, {"ph": "X", "cat": "mine", "name": "x", "pid": 1, "tid": 1, "ts": 1, )"
                        R"("dur": 1, "args": {"External id": 3}})"))
                .losses[Loss::kUnknownDeviceEvents],
            0U)
      << "it names no device";
}

/// A launch or a kernel of a profile that a tool wrote: without a correlation.
std::string joined_by_id(const char* category, int id) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "k", "pid": 0, "tid": 7, "ts": 2, "dur": 1, )"
      R"("args": {{"External id": {}}}}})",
      category, id);
}

TEST(Kineto, ExternalIdsThatALaunchAloneHasStandForCorrelations) {
  const std::string two = joined_by_id("cuda_runtime", 100) + "," + joined_by_id("kernel", 100) +
                          "," + joined_by_id("cuda_runtime", 101) + ",";
  const Profile profile =
      profile_of(file_of(two + joined_by_id("kernel", 101) + "," + joined_by_id("cpu_op", 100) +
                         "," + joined_by_id("kernel", 102)));
  std::vector<std::int64_t> correlations;
  for (const KinetoEvent& event : profile.events) {
    correlations.push_back(event.correlation);
  }
  EXPECT_EQ(correlations, (std::vector<std::int64_t>{100, 100, 101, 101, -1, -1}));
  for (const std::string& other : {joined_by_id("cuda_runtime", 101), std::string(kEvent)}) {
    EXPECT_EQ(profile_of(file_of(two + other)).events[0].correlation, -1) << other;
  }
}

TEST(Kineto, TimesAreExactFarFromTheBase) {
  const Profile profile = profile_of(
      R"({"baseTimeNanoseconds": 1711964646000000000, "traceEvents": [)"
      R"({"ph": "X", "cat": "cpu_op", "name": "a", "ts": 4458676522690.655, "dur": 156.777},)"
      R"({"ph": "X", "cat": "cpu_op", "name": "b", "ts": 4458676522690.001, "dur": 0.999}]})");
  EXPECT_EQ(profile.events[0].ts_ns, 1711964646000000000 + 4458676522690655);
  EXPECT_EQ(profile.events[0].dur_ns, 156777);
  EXPECT_EQ(profile.events[1].ts_ns, 1711964646000000000 + 4458676522690001);
  EXPECT_EQ(profile.events[1].dur_ns, 999);
}

TEST(Kineto, BaseTimeMayStandBehindTheEventsInQuotesAndUsersMetadata) {
  const std::string rest = ", \"n\": \"\n\", \"x\": NaN, \"baseTimeNanoseconds\": \"1000\"";
  EXPECT_EQ(profile_of(file_of(kEvent, rest)).events[0].ts_ns, 3001);
}

TEST(Kineto, AListOfEventsAloneIsAProfile) {
  for (const char* end : {"]", "", "\n,"}) {  // its format lets tools leave the bracket out
    const Profile profile = profile_of("\xef\xbb\xbf [\n" + std::string(kEvent) + ",\n" + kEvent +
                                       R"(,{"ph": "M", "name": "process_name"})" + end);
    EXPECT_EQ(profile.events.size(), 2U);
    EXPECT_EQ(profile.losses[Loss::kTruncatedFiles], end == std::string("]") ? 0U : 1U);
  }
  EXPECT_EQ(classify_json(R"([{"name": "x", "ph": "X"}])"), JsonKind::kKineto);
  EXPECT_EQ(classify_json(R"([{"nodes": [], "traceEvents": []}])"), JsonKind::kOther);
}

TEST(Kineto, BeginsAndEndsArePairedOnTheirThread) {
  const auto mark = [](char phase, const char* name, int tid, const char* ts) {
    return fmt::format(
        R"({{"name": "{}", "cat": "{}", "ph": "{}", "pid": 1, "tid": "{}", "ts": {}}})", name,
        std::string_view(name) == "frame" ? "python_function" : "cpu_op", phase, tid, ts);
  };
  const std::vector<std::string> marks = {mark('E', "none began", 1, "0.5"),
                                          mark('B', "outer", 1, "1"),
                                          mark('B', "frame", 1, "2"),
                                          mark('B', "of another thread", 2, "2.5"),
                                          mark('B', "inner", 1, "3"),
                                          mark('E', "", 1, "4"),
                                          mark('E', "", 1, "5"),
                                          mark('E', "", 2, "6"),
                                          mark('E', "", 1, "7"),
                                          mark('B', "no end", 1, "8"),
                                          mark('B', "no end", 2, "9")};
  const Profile profile = profile_of(file_of(fmt::format("{}", fmt::join(marks, ","))));
  ASSERT_EQ(profile.events.size(), 3U);
  EXPECT_EQ(profile.events[0].name, "inner");
  EXPECT_EQ(profile.events[0].dur_ns, 1000);
  EXPECT_EQ(profile.events[1].name, "outer");
  EXPECT_EQ(profile.events[1].category, KinetoCategory::kCpuOp);
  EXPECT_EQ(profile.events[1].ts_ns, 1000);
  EXPECT_EQ(profile.events[1].dur_ns, 6000);
  EXPECT_EQ(profile.events[2].dur_ns, 3500);
  EXPECT_EQ(profile.losses[Loss::kUnpairedEvents], 3U);
}

TEST(Kineto, OtherPhasesAreSkipped) {
  const Profile profile = profile_of(file_of(
      kEvent + std::string(R"(, {"ph": "f", "id": 1}, {"ph": "f"}, {"ph": "M"}, {"name": "x"})")));
  EXPECT_EQ(profile.events.size(), 1U);
}

TEST(Kineto, IdsInOtherSpellings) {
  const Profile profile = profile_of(file_of(
      R"({"ph": "X", "cat": "kernel", "name": "a", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1, "dur": 1,)"
      R"( "args": {"stream": "0x1f", "external id": "12", "correlation": "none"}})"));
  const KinetoEvent& event = profile.events[0];
  EXPECT_EQ(event.pid, -1);
  EXPECT_EQ(event.tid, -1);
  EXPECT_EQ(event.stream, 31);
  EXPECT_EQ(event.external_id, 12);
  EXPECT_EQ(event.correlation, -1);
}

TEST(Kineto, DistributedInfoOfPyTorchAndOfKineto) {
  const Profile profile = profile_of(
      file_of(kEvent, R"(, "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 4,)"
                      R"( "nccl_version": "2.17.1", "pg_config": [{"pg_name": "0", "pg_desc": "d",)"
                      R"( "backend_config": "cuda:nccl", "pg_size": 4, "ranks": [0, 1]},)"
                      R"( {"pg_name": "1", "ranks": "[2, 3]"}]}, "deviceProperties": [{"id": 0,)"
                      R"( "name": "A100", "totalGlobalMem": 42297524224, "numSms": 108}])"));
  ASSERT_TRUE(profile.distributed.has_value());
  EXPECT_EQ(profile.distributed->backend, "nccl");
  EXPECT_EQ(profile.distributed->rank, 1);
  EXPECT_EQ(profile.distributed->world_size, 4);
  ASSERT_EQ(profile.distributed->groups.size(), 2U);
  EXPECT_EQ(profile.distributed->groups[0].ranks, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(profile.distributed->groups[1].ranks, (std::vector<std::int64_t>{2, 3}));
  ASSERT_EQ(profile.devices.size(), 1U);
  EXPECT_EQ(profile.devices[0].name, "A100");
}

TEST(Kineto, DamageIsRepairedAndCounted) {
  const Profile profile = profile_of(file_of(
      R"({"ph": "X", "cat": "kernel", "name": "f<"a">", "pid": 0, "tid": 7, "ts": 1, "dur": 2,)"
      R"( "args": {"warps per SM": inf, "stream": 7}} )" +
      std::string(kEvent)));
  ASSERT_EQ(profile.events.size(), 2U);
  EXPECT_EQ(profile.events[0].name, "f<\"a\">");
  EXPECT_EQ(profile.events[0].stream, 7);
  EXPECT_EQ(profile.losses[Loss::kRepairedJson], 2U) << "a name and a comma";
}

TEST(Kineto, FileThatIsCutOffIsReadUpToTheCut) {
  const std::string text = file_of(std::string(kEvent) + "," + kEvent);
  const Profile profile = profile_of(text.substr(0, text.size() - 40));
  EXPECT_EQ(profile.events.size(), 1U);
  EXPECT_EQ(profile.losses[Loss::kTruncatedFiles], 1U);
}

TEST(Kineto, ProfilesOfTheSamples) {
  std::size_t profiles = 0;
  read_input_files(std::string(UNDERSTUDY_SAMPLES) + "/gpt_ddp", {}, [&](InputFile&& file) {
    if (file.name.ends_with("rank-0.kineto.json.gz")) {
      const Profile profile = parse_kineto(file.data, file.name);
      EXPECT_GT(profile.events.size(), 1000U);
      EXPECT_EQ(profile.distributed.value().world_size, 2);
      EXPECT_TRUE(profile.losses.nonzero().empty());
      for (const KinetoEvent& event : profile.events) {
        ASSERT_GE(event.dur_ns, 0);
      }
      ++profiles;
    }
  });
  EXPECT_EQ(profiles, 1U);
}

TEST(KinetoRefusal, WholeMessages) {
  EXPECT_EQ(profile_error(testing_texts::trace(testing_texts::roots())),
            told("not a Kineto trace: this is an execution trace", "file: k.json", "field: nodes",
                 "expected: a list of traceEvents", "got: a PyTorch execution trace",
                 "hint: give the profile of the same run"));
  EXPECT_EQ(
      profile_error("{}"),
      told("not a Kineto trace", "file: k.json", "field: traceEvents", "expected: a list of events",
           "got: nothing", "hint: give the chrome trace that torch.profiler.profile wrote"));
  EXPECT_EQ(profile_error(file_of("")),
            told("a profile without events", "file: k.json", "field: traceEvents",
                 "expected: at least one event with a duration", "got: none",
                 "hint: profile again, with the step inside of the profiler's active window"));
  EXPECT_EQ(profile_error(file_of(R"({"ph": "X", "ts": "now"})")),
            told("an event's time cannot be read", "file: k.json", "field: ts",
                 "expected: microseconds", "got: \"now\""));
  EXPECT_EQ(profile_error(file_of(R"({"ph": "X", "ts": 9223372036854775807})")),
            told("an event's time overflows", "file: k.json", "field: ts",
                 "expected: nanoseconds below 2^63", "got: 9223372036854775807"));
  EXPECT_EQ(profile_error(file_of(R"({"ph": "X", "cat": "cpu_op", "ts": 9000000000000000})",
                                  R"(, "baseTimeNanoseconds": 9000000000000000000)")),
            told("an event's time overflows", "file: k.json", "field: ts",
                 "expected: nanoseconds below 2^63 with the base time",
                 "got: base time 9000000000000000000"));
  EXPECT_EQ(profile_error(file_of(kEvent) + "\n" + file_of(kEvent)),
            told("several files in one", "file: k.json", "field: the top level", "expected: one",
                 "got: another from byte 197 on: {\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": "
                 "\"X\", \"cat\": \"ker…",
                 "hint: they were joined, as cat does: give each as a file of its own"));
  EXPECT_EQ(profile_error(file_of(kEvent, R"(, "traceEvents": [])")),
            told("two lists of events", "file: k.json", "field: traceEvents", "expected: one list",
                 "got: a second one", "hint: give each profile as a file of its own"));
  const std::string two = kEvent + std::string(",") + replaced_category("cpu_op");
  EXPECT_EQ(
      profile_error(file_of(two + "," + two)),
      told("a profile that is several times in one file", "file: k.json", "field: traceEvents",
           "expected: each event once", "got: 4 events, of which 2 are different ones",
           "hint: give one of the profiles that the file was joined of"));
  EXPECT_EQ(profile_error(file_of("5")), told("an event is no object", "file: k.json",
                                              "field: traceEvents", "expected: {", "got: 5]}"));
}

}  // namespace
}  // namespace understudy::et_schema
