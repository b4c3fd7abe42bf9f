// Whatever a profile holds, linking refuses it or gives times that can be.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "et_schema/base/error.h"
#include "generator/link/host.h"
#include "generator/link/link.h"
#include "small_profile.h"

namespace understudy::generator {
namespace {

/// Events with damaged times, names, threads and numbers.
std::vector<KinetoEvent> damaged(std::vector<KinetoEvent> events, std::mt19937_64& engine) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> numbers = {kMost, -kMost, 0, -1, 1, 5, 1000, 1000000};
  const auto number = [&] { return numbers[engine() % numbers.size()]; };
  for (KinetoEvent& event : events) {
    switch (engine() % 12) {
      case 0:
        event.ts_ns = number();
        break;
      case 1:
        event.dur_ns = number();
        break;
      case 2:
        event.tid = number();
        break;
      case 3:
        event.rf_id = number();
        break;
      case 4:
        event.correlation = number();
        break;
      case 5:
        event.category = static_cast<KinetoCategory>(engine() % 11);
        break;
      case 6:
        event = events[engine() % events.size()];
        break;
      default:
        break;
    }
  }
  std::shuffle(events.begin(), events.end(), engine);
  events.resize(events.size() - engine() % 3);
  return events;
}

TEST(LinkAnyProfile, IsRefusedOrGivesTimesThatCanBe) {
  std::mt19937_64 engine(5);
  std::size_t linked_profiles = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<et_schema::Trace> traces;
    traces.push_back(small_trace().trace());
    std::vector<KinetoEvent> events = small_step(100, 0);
    for (const KinetoEvent& step_event : small_step(5000, 7)) {
      events.push_back(step_event);
    }
    for (std::size_t i = 0; i < events.size() && round % 2 == 0; ++i) {
      events[i].rf_id = static_cast<std::int64_t>(i % 5) + 2;
    }
    events.push_back(launch(250, 3));
    events.push_back(device_event("kernel", 3, 3));
    events.push_back(event("cudaStreamSynchronize", 720, 30, KinetoCategory::kRuntime));
    events.push_back(event("cudaDeviceSynchronize", 6800, 30, KinetoCategory::kRuntime));
    const et_schema::Profile profile = profile_of(damaged(std::move(events), engine));
    repair_parents(traces[0], profile);
    std::vector<Link> links;
    try {
      links.push_back(link(traces[0], profile));
    } catch (const et_schema::Error& error) {
      EXPECT_EQ(error.summary(), "a profile of another program");
      continue;
    }
    ++linked_profiles;
    const et_schema::Bench bench = generate(traces, {}, links);
    for (const et_schema::Instruction& instruction : bench.programs[0].instructions) {
      if (instruction.timing) {
        EXPECT_GE(instruction.timing->start_ns, 0);
        EXPECT_GE(instruction.timing->host_ns, 0);
        EXPECT_GE(instruction.timing->gap_ns, 0);
        EXPECT_GE(instruction.timing->device_ns, 0);
        EXPECT_LE(instruction.timing->start_ns, 2 * kLatestNs);
      }
    }
    for (const et_schema::DeviceWait& wait : bench.programs[0].profile->device_waits) {
      EXPECT_GE(wait.start_ns, 0);
      EXPECT_GE(wait.host_ns, 0);
      EXPECT_LE(wait.start_ns, 2 * kLatestNs);
      EXPECT_LE(wait.host_ns, kLatestNs);
    }
  }
  EXPECT_GT(linked_profiles, 100U);
}

TEST(LinkRefusal, CountsTheNodesAndEventsOfOneStep) {
  std::vector<et_schema::KinetoEvent> events;
  for (std::int64_t step = 0; step < 2; ++step) {
    events.push_back(
        event("ProfilerStep#4", 10'000 * step, 2000, et_schema::KinetoCategory::kUserAnnotation));
    events.push_back(event(step == 0 ? "aten::relu" : "aten::clamp_min", 10'000 * step + 100, 500));
  }
  try {
    (void)link(small_trace().trace(), profile_of(std::move(events)));
    ADD_FAILURE() << "linked";
  } catch (const et_schema::Error& error) {
    EXPECT_EQ(error.context().got,
              "1 of 4 nodes and 1 of 1 events of its first step with equal names in equal order");
  }
}

}  // namespace
}  // namespace understudy::generator
