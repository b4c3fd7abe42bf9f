// Waits for the device in a synthetic Kineto profile: which are replayed as waits, and where.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "generator/job/generate.h"
#include "generator/link/link.h"
#include "trace_builder.h"

namespace understudy::generator {
namespace {

using et_schema::DeviceWait;

constexpr std::int64_t kMicrosecond_ns = 1000;

std::string event_text(const std::string& category, const std::string& name, int start_us,
                       int for_us, int tid = 1) {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{},"dur":{},"args":{{}}}},)",
      category, name, tid, start_us, for_us);
}

/// A step of two operators, 100 us long.
std::string step(int begin_us, const std::string& more) {
  return event_text("user_annotation", "ProfilerStep#4", begin_us, 100) +
         event_text("cpu_op", "aten::relu", begin_us + 10, 5) +
         event_text("cpu_op", "aten::relu", begin_us + 40, 5) + more;
}

et_schema::Trace trace_of_step() {
  const char* const schema = "aten::relu(Tensor self) -> Tensor";
  test::TraceBuilder builder;
  builder.add(2, "aten::relu", schema, {test::tensor(1, 11, {4})}, {test::tensor(2, 12, {4})});
  builder.add(2, "aten::relu", schema, {test::tensor(2, 12, {4})}, {test::tensor(3, 13, {4})});
  return builder.trace();
}

et_schema::Program program_of(std::string events) {
  events.back() = ']';
  std::vector<et_schema::Trace> traces;
  traces.push_back(trace_of_step());
  const std::vector<Link> links = {
      link(traces[0], et_schema::parse_kineto("{\"traceEvents\":[" + events + "}", "k.json"))};
  return generate(traces, {}, links).programs.front();
}

/// A wait between operators.
struct Wait {
  std::int64_t start_us = 0;
  std::int64_t host_us = 0;
  DeviceWait::For waits_for = DeviceWait::For::kDevice;
  bool operator==(const Wait&) const = default;
};

std::vector<Wait> waits_of(const std::string& events) {
  std::vector<Wait> waits;
  for (const DeviceWait& wait : et_schema::waits_between(*program_of(events).profile)) {
    waits.push_back(
        {wait.start_ns / kMicrosecond_ns, wait.host_ns / kMicrosecond_ns, wait.waits_for});
  }
  return waits;
}

TEST(LinkWaits, BetweenOperatorsAndAtTheStepsEndAreKept) {
  std::string events;
  for (const int begin : {0, 1000, 2000}) {
    events += step(begin, event_text("cuda_runtime", "cudaEventSynchronize", begin + 20, 10) +
                              event_text("cuda_runtime", "cudaDeviceSynchronize", begin + 70, 20));
  }
  EXPECT_EQ(waits_of(events), (std::vector<Wait>{{20, 10, DeviceWait::For::kEvent},
                                                 {70, 20, DeviceWait::For::kDevice}}));
}

std::string call(const std::string& name, int start_us, int for_us, int correlation) {
  return fmt::format(
      R"({{"ph":"X","cat":"cuda_runtime","name":"{}","pid":1,"tid":1,"ts":{},"dur":{},"args":{{"correlation":{}}}}},)",
      name, start_us, for_us, correlation);
}

std::string kernel(int start_us, int for_us, int correlation, int stream = 7) {
  return fmt::format(
      R"({{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":{3},"ts":{0},"dur":{1},"args":{{"correlation":{2},"device":0,"stream":{3}}}}},)",
      start_us, for_us, correlation, stream);
}

/// A wait of 2 us beyond the end of the kernel that it is for.
TEST(LinkWaits, OfAnOperatorAreInsideAndKnowTheirWork) {
  const et_schema::Program program = program_of(
      step(0, call("cudaLaunchKernel", 11, 1, 1) + kernel(13, 7, 1) +
                  call("cudaStreamSynchronize", 14, 8, 2) + call("cudaLaunchKernel", 41, 1, 3) +
                  kernel(43, 50, 3, 8) + call("cudaLaunchKernel", 44, 1, 4) + kernel(46, 10, 4)));
  ASSERT_EQ(program.device_work.size(), 3);
  ASSERT_EQ(program.profile->device_waits.size(), 1);
  const DeviceWait& wait = program.profile->device_waits[0];
  EXPECT_TRUE(wait.is_inside);
  EXPECT_EQ(wait.work, 0);
  EXPECT_EQ(wait.host_ns, 8 * kMicrosecond_ns);
  EXPECT_EQ(wait.own_ns, 2 * kMicrosecond_ns);
  EXPECT_TRUE(et_schema::waits_between(*program.profile).empty());
}

/// The event's wait is for the first kernel, whatever else was launched before it.
TEST(LinkWaits, ForAnEventAreForWhatEndedThen) {
  const et_schema::Program program =
      program_of(step(0, call("cudaLaunchKernel", 11, 1, 1) + kernel(13, 40, 1) +
                             call("cudaLaunchKernel", 13, 1, 2) + kernel(54, 30, 2) +
                             call("cudaEventSynchronize", 20, 34, 3)));
  ASSERT_EQ(program.profile->device_waits.size(), 1);
  EXPECT_EQ(program.profile->device_waits[0].work, 0);
  EXPECT_EQ(program.profile->device_waits[0].own_ns, 1 * kMicrosecond_ns);
}

TEST(LinkWaits, OfCopiesAreThoseThatReturnWhenTheyAreDone) {
  const auto work_of = [](int copy_us) {
    return program_of(step(0, call("cudaMemcpyAsync", 11, 20, 1) + kernel(15, copy_us, 1)));
  };
  const et_schema::Program blocking = work_of(15);
  ASSERT_EQ(blocking.profile->device_waits.size(), 1);
  EXPECT_EQ(blocking.profile->device_waits[0].work, 0);
  EXPECT_EQ(blocking.profile->device_waits[0].own_ns, 1 * kMicrosecond_ns);
  EXPECT_TRUE(work_of(17).profile->device_waits.empty());
}

/// Of kernels without a launch behind one with a launch, the first one ran while the host waited,
/// the second one before a kernel that was launched at 42.
TEST(LinkWaits, WorkOfUnknownLaunchWasLaunchedBeforeTheWaitAndWhatRanBehindIt) {
  const et_schema::Program program = program_of(
      step(0, call("cudaLaunchKernel", 11, 1, 4) + kernel(13, 1, 4) +
                  call("cudaStreamSynchronize", 20, 15, 9) + kernel(22, 12, 1) + kernel(50, 10, 2) +
                  call("cudaLaunchKernel", 42, 1, 3) + kernel(61, 10, 3)));
  ASSERT_EQ(program.device_work.size(), 4);
  EXPECT_EQ(program.device_work[1].launch_ns, 20 * kMicrosecond_ns);
  EXPECT_EQ(program.device_work[2].launch_ns, 42 * kMicrosecond_ns);
  EXPECT_EQ(program.device_work[2].start_ns, 50 * kMicrosecond_ns);
  EXPECT_EQ(program.device_work[2].why, et_schema::Outside::kUnlinked);
  EXPECT_EQ(program.device_work[3].lag_ns, 19 * kMicrosecond_ns);
  EXPECT_EQ(program.profile->length_ns, 100 * kMicrosecond_ns);
}

TEST(LinkWaits, AreTheHostsOwnCallsThatOnlyWait) {
  std::string events;
  for (const int begin : {0, 1000}) {
    events +=
        step(begin,
             event_text("cuda_runtime", "cudaStreamWaitEvent", begin + 20, 3) +  // the device's
                 event_text("cuda_sync", "Stream Sync", begin + 20, 3) +
                 event_text("cuda_runtime", "cudaLaunchKernel", begin + 25, 2) +
                 event_text("cpu_op_of_another_thread", "x", begin + 25, 2, 9) +
                 event_text("cuda_runtime", "cudaStreamSynchronize", begin + 25, 2, 9) +
                 event_text("cuda_runtime", "cudaStreamSynchronize", begin + 50, 20) +
                 event_text("cuda_driver", "cuStreamSynchronize", begin + 51, 18));  // inside of it
  }
  EXPECT_EQ(waits_of(events), (std::vector<Wait>{{50, 20, DeviceWait::For::kStream}}));
}

TEST(LinkWaits, OfEachRuntimeAreKnown) {
  const std::vector<std::pair<const char*, DeviceWait::For>> calls = {
      {"cudaDeviceSynchronize", DeviceWait::For::kDevice},
      {"cuCtxSynchronize", DeviceWait::For::kDevice},
      {"cudaStreamSynchronize_ptsz", DeviceWait::For::kStream},
      {"hipDeviceSynchronize", DeviceWait::For::kDevice},
      {"hipStreamSynchronize", DeviceWait::For::kStream},
      {"hipEventSynchronize", DeviceWait::For::kEvent},
      {"aclrtSynchronizeDevice", DeviceWait::For::kDevice},
      {"aclrtSynchronizeStreamWithTimeout", DeviceWait::For::kStream},
      {"AscendCL@aclrtSynchronizeEvent", DeviceWait::For::kEvent}};
  for (const auto& [name, waits_for] : calls) {
    const std::string category = std::string(name).find("acl") == 0 ? "" : "cuda_runtime";
    EXPECT_EQ(waits_of(step(0, event_text(category, name, 20, 10))),
              (std::vector<Wait>{{20, 10, waits_for}}))
        << name;
  }
}

/// The steps of equal length count in their order.
TEST(LinkWaits, AreThoseOfTheStepOfMedianLength) {
  std::string events;
  for (const int begin : {0, 1000, 2000}) {
    events += step(begin, event_text("cuda_runtime", "cudaStreamSynchronize", begin + 60,
                                     begin == 1000 ? 30 : 20));
  }
  EXPECT_EQ(waits_of(events), (std::vector<Wait>{{60, 30, DeviceWait::For::kStream}}));
}

}  // namespace
}  // namespace understudy::generator
