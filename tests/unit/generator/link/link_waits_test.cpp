// Waits for the device in a synthetic Kineto profile: which are replayed as waits, and where.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "et_schema/kineto/kineto.h"
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

et_schema::RecordedProfile recorded_of(std::string events) {
  events.back() = ']';
  std::vector<et_schema::Trace> traces;
  traces.push_back(trace_of_step());
  const std::vector<Link> links = {
      link(traces[0], et_schema::parse_kineto("{\"traceEvents\":[" + events + "}", "k.json"))};
  return *generate(traces, {}, links).programs.front().profile;
}

std::vector<DeviceWait> waits_of(const std::string& events) {
  return recorded_of(events).device_waits;
}

/// No work of a device is in these profiles: all of the call's time is its own.
DeviceWait wait(int start_us, int for_us, DeviceWait::For waits_for, bool is_inside = false) {
  return {.start_ns = start_us * kMicrosecond_ns,
          .host_ns = for_us * kMicrosecond_ns,
          .waits_for = waits_for,
          .own_ns = for_us * kMicrosecond_ns,
          .is_inside = is_inside,
          .thread = 1};
}

TEST(LinkWaits, BetweenOperatorsAndAtTheStepsEndAreKept) {
  std::string events;
  for (const int begin : {0, 1000, 2000}) {
    events += step(begin, event_text("cuda_runtime", "cudaEventSynchronize", begin + 20, 10) +
                              event_text("cuda_runtime", "cudaDeviceSynchronize", begin + 70, 20));
  }
  EXPECT_EQ(waits_of(events), (std::vector<DeviceWait>{wait(20, 10, DeviceWait::For::kEvent),
                                                       wait(70, 20, DeviceWait::For::kDevice)}));
}

TEST(LinkWaits, OfAnOperatorAreKeptAsInsideOfIt) {
  std::string events;
  for (const int begin : {0, 1000}) {
    events += step(begin, event_text("cuda_runtime", "cudaStreamSynchronize", begin + 12, 2));
  }
  EXPECT_EQ(waits_of(events),
            (std::vector<DeviceWait>{wait(12, 2, DeviceWait::For::kStream, true)}));
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
  EXPECT_EQ(waits_of(events), (std::vector<DeviceWait>{wait(50, 20, DeviceWait::For::kStream)}));
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
              (std::vector<DeviceWait>{wait(20, 10, waits_for)}))
        << name;
  }
}

/// Of steps of one length the middle one is shown, with its own waits.
TEST(LinkWaits, AreThoseOfOneStep) {
  std::string events;
  for (const auto& [begin, rare] : {std::pair{0, 0}, {1000, 0}, {2000, 1}}) {
    events += step(begin, event_text("cuda_runtime", "cudaStreamSynchronize", begin + 60,
                                     begin == 1000 ? 30 : 20));
    events += rare != 0 ? event_text("cuda_runtime", "cudaEventSynchronize", begin + 20, 10) : "";
  }
  EXPECT_EQ(waits_of(events), (std::vector<DeviceWait>{wait(60, 30, DeviceWait::For::kStream)}));
}

}  // namespace
}  // namespace understudy::generator
