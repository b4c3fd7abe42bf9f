#include "et_schema/formats/kineto/device_timeline.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "et_schema/base/input_files.h"

namespace understudy::et_schema {
namespace {

Profile case_named(const std::string& name) {
  Profile profile;
  const std::string path = std::string(UNDERSTUDY_CASES) + "/" + name + ".json";
  read_input_files(path, process_limits(),
                   [&](InputFile&& file) { profile = parse_kineto(file.data, file.name); });
  return profile;
}

/// What tests/cases/README.md works out by hand, in µs. By class and launcher:
/// golden.inspect.device_time_kinds.
struct Expected {
  std::string name;
  std::int64_t device_us = 0;  ///< Σ duration
  std::int64_t busy_us = device_us;
  std::vector<std::int64_t> step_us = {1000};  ///< lengths
  std::uint64_t clipped = 0;
  std::vector<std::uint64_t> lost = {0, 0, 0, 0, 0};  ///< by LostBy
  std::vector<EventIndex> usable = {0};
  std::uint64_t unknown = 0;
  std::size_t streams = 1;
  std::vector<std::int64_t> work_us = {};  ///< Σ duration by step; empty: not looked at
  std::int64_t shift_us = 0;               ///< of the device's clock
  bool is_clock_unknown = false;
};

std::vector<EventIndex> first_steps(EventIndex count) {
  std::vector<EventIndex> steps(count);
  std::iota(steps.begin(), steps.end(), 0U);
  return steps;
}

/// Steps of equal length.
Expected steps_of(const std::string& name, EventIndex count, std::int64_t step_us,
                  std::int64_t work_us, std::int64_t shift_us = 0) {
  return {.name = name,
          .device_us = work_us * count,
          .step_us = std::vector<std::int64_t>(count, step_us),
          .usable = first_steps(count),
          .work_us = std::vector<std::int64_t>(count, work_us),
          .shift_us = shift_us};
}

TEST(DeviceTimeline, CasesAreRight) {
  const std::vector<Expected> cases = {
      {.name = "I1/trace", .device_us = 80, .lost = {3, 0, 0, 0, 0}},
      {.name = "F1/trace", .device_us = 2000, .step_us = {1000, 3000}, .usable = {0, 1}},
      {.name = "G1/trace", .device_us = 200, .clipped = 1},
      {.name = "E1/trace", .device_us = 10000, .step_us = {10010}},
      {.name = "D2/trace", .device_us = 20000, .busy_us = 10000, .step_us = {10100}, .streams = 2},
      {.name = "AS1/trace_view", .step_us = {20}, .unknown = 1, .streams = 0},
      {.name = "lost_copy/trace", .device_us = 200, .lost = {1, 0, 0, 0, 0}},
      {.name = "lost_in_one_step/trace",
       .device_us = 300,
       .step_us = {1000, 1000},
       .lost = {1, 0, 0, 0, 0},
       .usable = {1}},
      {.name = "lost_graph/trace", .device_us = 100, .lost = {1, 0, 0, 0, 0}},
      {.name = "events_without_times/trace", .device_us = 100, .lost = {0, 2, 0, 0, 0}},
      {.name = "memsets_without_events/trace", .device_us = 200, .lost = {0, 0, 3, 0, 0}},
      {.name = "captured_launches/trace", .device_us = 300, .lost = {0, 0, 0, 3, 0}},
      {.name = "range_profiler/trace", .lost = {0, 0, 0, 0, 2}, .streams = 0},
      {.name = "driver_below_runtime/trace", .device_us = 200},
      {.name = "graph_branches/trace", .device_us = 1000, .busy_us = 600},
      {.name = "graph_refuted/trace", .device_us = 1000, .busy_us = 600, .clipped = 1},
      {.name = "early_launches/trace", .device_us = 590, .busy_us = 574, .clipped = 1},
      {.name = "short_inside_long/trace", .device_us = 203, .clipped = 1},
      {.name = "without_duration/trace", .device_us = 200},
      {.name = "two_devices_without_streams/trace",
       .device_us = 2000,
       .busy_us = 1000,
       .step_us = {2000},
       .streams = 2},
      {.name = "one_stream_number_on_two_devices/trace",
       .device_us = 2000,
       .busy_us = 1000,
       .step_us = {2000},
       .streams = 2},
      {.name = "two_devices_of_one_pid/trace",
       .device_us = 2000,
       .busy_us = 1000,
       .step_us = {2000},
       .streams = 2},
      {.name = "unknown_category/trace", .unknown = 2, .streams = 0},
      {.name = "unknown_device_by_arrow/trace", .unknown = 1, .streams = 0},
      {.name = "work_before_the_mark/trace", .device_us = 500},
      {.name = "host_ahead/trace",
       .device_us = 7200,
       .step_us = {2000, 2000, 2000, 2000},
       .usable = {0, 1, 2, 3}},
      {.name = "host_ahead_of_backlog/trace",
       .device_us = 7890,
       .step_us = {2000, 2000, 2000, 2000},
       .usable = {0, 1, 2, 3}},
      {.name = "host_ahead_then_waits/trace",
       .device_us = 5400,
       .step_us = {2000, 2000, 2000},
       .usable = {0, 1, 2}},
      {.name = "BACKLOG/trace", .device_us = 7000, .step_us = {10000}, .work_us = {4000}},
      {.name = "BACKLOG/in_the_step", .device_us = 4000, .step_us = {10000}, .work_us = {4000}},
      {.name = "BACKLOG/launched_before_the_mark",
       .device_us = 7000,
       .step_us = {10000},
       .work_us = {4000}},
      {.name = "BACKLOG/on_another_stream",
       .device_us = 8500,
       .busy_us = 7000,
       .step_us = {10000},
       .streams = 2,
       .work_us = {4000}},
      {.name = "BACKLOG/of_three_steps",
       .device_us = 8000,
       .step_us = {5000, 5000, 5000},
       .usable = {0, 1, 2},
       .work_us = {2000, 2000, 2000}},
      {.name = "BACKLOG/no_launches", .device_us = 3000, .step_us = {5000}, .work_us = {3000}},
      {.name = "STEPAHEAD/trace",
       .device_us = 9000,
       .step_us = {20000, 20000, 51500},
       .usable = {0, 1, 2},
       .work_us = {3000, 3000, 3000}},
      {.name = "STEPAHEAD/early_kernel",
       .device_us = 9150,
       .step_us = {20000, 20000, 51500},
       .usable = {0, 1, 2},
       .work_us = {3050, 3050, 3050}},
      {.name = "STEPAHEAD/late_host",
       .device_us = 10800,
       .step_us = {2000, 2000, 2000, 9000, 2000, 2000},
       .usable = first_steps(6)},
      steps_of("CLOCKSHIFT/trace", 2, 5000, 3000, -59990),
      steps_of("CLOCKSHIFT/behind", 4, 5000, 3000, 6810),
      steps_of("CLOCKSHIFT/drift", 6, 5000, 3000, -3490),
      steps_of("CLOCKSHIFT/stream", 4, 5000, 3000, 19810),
      steps_of("CLOCKSHIFT/agree", 4, 5000, 3000),
      {.name = "CLOCKSHIFT/unmendable",
       .device_us = 3000,
       .step_us = {10000},
       .is_clock_unknown = true},
      {.name = "CLOCKSHIFT/other_stream", .device_us = 3100, .step_us = {5000}, .streams = 2},
  };
  constexpr std::int64_t kNsPerUs = 1000;
  for (const Expected& expected : cases) {
    SCOPED_TRACE(expected.name);
    const Profile profile = case_named(expected.name);
    const DeviceTimeline device = device_timeline(profile);
    std::int64_t device_ns = 0;
    for (const DeviceEvent& event : device.events) {
      device_ns += event.ns();
    }
    EXPECT_EQ(device_ns, expected.device_us * kNsPerUs);
    EXPECT_EQ(total_ns(DeviceTimeline::busy(device.events)), expected.busy_us * kNsPerUs);
    std::vector<std::int64_t> step_us;
    for (const DeviceStep& step : device.steps) {
      step_us.push_back(step.length_ns / kNsPerUs);
    }
    EXPECT_EQ(step_us, expected.step_us);
    std::vector<std::int64_t> work_us(expected.work_us.size());
    for (const DeviceEvent& event : device.events) {
      if (event.step < work_us.size()) {
        work_us[event.step] += event.ns() / kNsPerUs;
      }
    }
    EXPECT_EQ(work_us, expected.work_us);
    EXPECT_EQ(device.clock_shift_ns, expected.shift_us * kNsPerUs);
    EXPECT_EQ(device.is_clock_unknown, expected.is_clock_unknown);
    EXPECT_EQ(device.clipped, expected.clipped);
    EXPECT_EQ(std::vector(device.lost_by.begin(), device.lost_by.end()), expected.lost);
    EXPECT_EQ(device.usable_steps(), expected.usable);
    EXPECT_EQ(device.is_incomplete(), device.lost_work() > 0 && device.steps.size() == 1);
    EXPECT_EQ(profile.losses[Loss::kUnknownDeviceEvents], expected.unknown);
    EXPECT_EQ(device.streams.size(), expected.streams);
  }
}

TEST(DeviceTimeline, StreamsOfTwoDevicesHaveNumbersOfTheirOwn) {
  const DeviceTimeline device =
      device_timeline(case_named("one_stream_number_on_two_devices/trace"));
  ASSERT_EQ(device.streams.size(), 2U);
  EXPECT_EQ(device.streams[0].number, 7);
  EXPECT_EQ(device.streams[1].number, 8);
}

TEST(DeviceTimeline, ALaunchHasItsOperatorLabelGraphOrNothing) {
  const Profile profile = case_named("captured_launches/trace");
  const DeviceTimeline device = device_timeline(profile);
  for (const DeviceEvent& event : device.events) {
    EXPECT_EQ(event.by, LaunchedBy::kGraph);
    EXPECT_EQ(profile.events[event.call].name, "cudaGraphLaunch");
    EXPECT_EQ(event.launcher, kUnknownEvent);
  }
  ASSERT_EQ(device.lost.size(), 3U);
  for (const LostLaunch& lost : device.lost) {
    EXPECT_EQ(lost.by, LaunchedBy::kOperator);
    EXPECT_EQ(profile.events[lost.launcher].name, "aten::mm");
    EXPECT_EQ(lost.step, 0U);
  }
}

}  // namespace
}  // namespace understudy::et_schema
