// The parts of linking by themselves: names, nesting, the time that recording took, device events,
// and the times of instructions.

#include "generator/link/link.h"

#include <gtest/gtest.h>

#include "et_schema/base/error.h"
#include "generator/link/clock.h"
#include "generator/link/device.h"
#include "generator/link/host.h"
#include "generator/link/names.h"
#include "small_profile.h"

namespace understudy::generator {
namespace {

// ---- names

TEST(LinkNames, AreComparedAsKinetoWritesThem) {
  EXPECT_EQ(as_profiled("a\\b\nc"), "a/bc");
  EXPECT_EQ(as_profiled("größer"), "unknown");
  EXPECT_EQ(as_profiled("tab\there"), "unknown");
  EXPECT_EQ(as_profiled("ProfilerStep#12"), "ProfilerStep#");
  NameTable names;
  const NameId first = names.number("aten::add");
  EXPECT_NE(names.number("aten::mul"), first);
  EXPECT_EQ(names.number_interned("aten::add"), first);
  EXPECT_EQ(names.number("ProfilerStep#1"), names.number("ProfilerStep#2"));
  EXPECT_EQ(names.size(), 3U);
}

// ---- host events

TEST(LinkHost, NestsEventsByTheirIntervals) {
  NameTable names;
  const HostEvents host = host_events(
      profile_of({event("inner", 20, 10), event("outer", 10, 50), event("next", 60, 5)}), names);
  ASSERT_EQ(host.events.size(), 3U);
  EXPECT_EQ(host.events[0].start_ns, 0) << "times count from the first event's";
  EXPECT_EQ(host.events[1].start_ns, 10);
  EXPECT_EQ(host.events[1].parent, 0U);
  EXPECT_EQ(host.events[2].parent, kNoEvent);
}

// ---- steps whose device events are cut off

TEST(Link, AStepWhoseKernelsWereCutOffIsNoSampleOfTheirTime) {
  const et_schema::Trace trace = small_trace().trace();
  std::vector<KinetoEvent> events;
  std::int64_t correlation = 0;
  for (const std::int64_t begin : {0, 10'000, 20'000}) {
    const std::vector<KinetoEvent> step = small_step(begin, 0);
    events.insert(events.end(), step.begin(), step.end());
    for (const std::int64_t start : {begin + 350, begin + 900}) {  // clamp_min, the second relu
      events.push_back(launch(start, ++correlation));
      if (correlation <= 3) {  // the profile ended in the second step, as far as the device goes
        events.push_back(device_event("kernel", correlation, 0));
      }
    }
  }
  const Link linked = link(trace, profile_of(events), {});
  EXPECT_EQ(linked.nodes.at(trace.nodes.size() - 2)->device_ns, 40);
  EXPECT_EQ(linked.nodes.at(trace.nodes.size() - 2)->launches, 1U);
  EXPECT_EQ(linked.nodes.at(trace.nodes.size() - 1)->device_ns, 40);
  EXPECT_EQ(linked.nodes.at(trace.nodes.size() - 1)->launches, 1U);
  EXPECT_EQ(linked.losses[et_schema::Loss::kCutOffSamples], 3U);
}

// ---- the cost of recording

/// 40 operators of 1000 ns, each with one child of 600 ns: 300 ns before it, 100 ns after it.
std::vector<KinetoEvent> parents_and_children() {
  std::vector<KinetoEvent> events;
  for (int i = 0; i < 40; ++i) {
    events.push_back(event("aten::linear", i * 2000, 1000));
    events.push_back(event("aten::addmm", i * 2000 + 300, 600));
  }
  return events;
}

TEST(LinkClock, TheCostIsWhatLiesAroundTheCheapestEvents) {
  NameTable names;
  const HostEvents host = host_events(profile_of(parents_and_children()), names);
  const EventCost alone = find_event_cost(host, false, {});
  EXPECT_EQ(alone.before_ns, 300);
  EXPECT_EQ(alone.inside_ns, 0);
  EXPECT_EQ(alone.after_ns, 100);
  EXPECT_EQ(alone.source, "the cheapest events of the profile");
  EXPECT_EQ(find_event_cost(host, true, {}).inside_ns, 600);
  const EventCost measured = find_event_cost(host, false, 200);
  EXPECT_EQ(measured.before_ns, 150);
  EXPECT_EQ(measured.after_ns, 50);
  EXPECT_EQ(measured.source, "measured at the capture");
}

TEST(LinkClock, TooFewEventsSayNothing) {
  NameTable names;
  const HostEvents host = host_events(profile_of({event("a", 0, 100), event("b", 10, 20)}), names);
  EXPECT_EQ(find_event_cost(host, true, {}).total_ns(), 0);
  EXPECT_EQ(find_event_cost(host, true, 70.0).before_ns, 70);
}

TEST(LinkClock, TakesTheCostOutOfWhatIsAroundAnEvent) {
  NameTable names;
  HostEvents host = host_events(profile_of(parents_and_children()), names);
  take_out({250, 0, 50, ""}, {}, host);
  for (int i = 0; i < 40; ++i) {
    const HostEvent& outer = host.events[static_cast<std::size_t>(2 * i)];
    const HostEvent& inner = host.events[static_cast<std::size_t>(2 * i + 1)];
    EXPECT_EQ(inner.end_ns - inner.start_ns, 600);
    EXPECT_EQ(outer.end_ns - outer.start_ns, 700) << "300 ns for its child";
    EXPECT_EQ(outer.start_ns, i * 1400) << "600 ns for each pair before, of which none before 0";
  }
}

TEST(LinkClock, NeverTakesMoreThanThereIs) {
  NameTable names;
  HostEvents host = host_events(profile_of(parents_and_children()), names);
  take_out({5000, 5000, 5000, ""}, {}, host);
  for (std::size_t i = 0; i < host.events.size(); ++i) {
    EXPECT_EQ(host.events[i].start_ns, 0);
    EXPECT_EQ(host.events[i].end_ns, 0);
  }
}

TEST(LinkClock, ALaunchCostsMoreWhereItWasMade) {
  NameTable names;
  HostEvents host = host_events(
      profile_of({event("aten::add", 1000, 5000), event("aten::mul", 7000, 5000)}), names);
  take_out({}, {{100, 600, 5600}, 600}, host);
  EXPECT_EQ(host.events[0].end_ns - host.events[0].start_ns, 3800) << "two launches";
  EXPECT_EQ(host.events[1].start_ns - host.events[0].end_ns, 400) << "one between them";
  EXPECT_EQ(host.events[1].end_ns - host.events[1].start_ns, 5000);
}

TEST(LinkClock, AnOperatorOnAnotherThreadDelaysThoseThatWaitForIt) {
  std::vector<KinetoEvent> events = {event("backward", 0, 10000)};
  events.push_back(event("aten::mul", 2000, 1000));
  events.back().tid = 2;
  NameTable names;
  HostEvents host = host_events(profile_of(std::move(events)), names);
  take_out({400, 0, 100, ""}, {}, host);
  EXPECT_EQ(host.events[0].end_ns - host.events[0].start_ns, 9500);
  EXPECT_EQ(host.events[1].end_ns - host.events[1].start_ns, 1000);
}

// ---- device events

TEST(LinkDevice, WhatHasNoTimeIsLostByThatName) {
  KinetoEvent launch = event("cudaLaunchKernel", 0, 0);
  launch.category = KinetoCategory::kRuntime;
  KinetoEvent kernel = event("k", 0, 0);
  kernel.category = KinetoCategory::kKernel;
  launch.correlation = kernel.correlation = 7;
  NameTable names;
  const Profile profile = profile_of({event("aten::add", 0, 100), launch, kernel});
  const et_schema::DeviceTimeline device = et_schema::device_timeline(profile);
  EXPECT_TRUE(device.events.empty());
  EXPECT_EQ(device.total(), 1U);
  EXPECT_EQ(device.lost_work(), 1U);
  const auto rows = unlinked_events(device, host_events(profile, names));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].reason, "its time is lost: the profile was written after the next one began");
}

TEST(LinkDevice, ByCorrelationAndTheInnermostOperatorAroundTheLaunch) {
  std::vector<KinetoEvent> events = {
      event("aten::linear", 0, 100),
      event("aten::addmm", 10, 50),
      event("nccl:all_reduce", 12, 40, KinetoCategory::kUserAnnotation),
      launch(20, 5),
      launch(70, 6),
      launch(300, 8)};
  events[0].external_id = 5;  // what the kernel's "External id" falsely points to
  events.push_back(device_event("in addmm", 5, 5));
  events.push_back(device_event("in linear", 6, 6));
  events.push_back(device_event("never launched", 7, 7));
  events.push_back(device_event("in none", 8, 8));
  events.push_back(device_event("uncorrelated", -1, -1));
  const Profile profile = profile_of(std::move(events));
  NameTable names;
  const HostEvents host = host_events(profile, names);
  const et_schema::DeviceTimeline device = et_schema::device_timeline(profile);
  ASSERT_EQ(device.events.size(), 5U);
  EXPECT_EQ(profile.events[device.events[0].launcher].name, "aten::addmm");
  EXPECT_EQ(profile.events[device.events[1].launcher].name, "aten::linear");
  const std::vector<et_schema::LostDeviceEvents> lost = {
      {"in none", "no operator was open where it was launched", 1, 40},
      {"never launched", "its launch is not in the profile", 1, 40},
      {"uncorrelated", "it has no correlation", 1, 40}};
  EXPECT_EQ(unlinked_events(device, host), lost);
  EXPECT_EQ(device.events[3].launch_ns, 300) << "in none";
}

TEST(LinkDevice, ByExternalIdWhereNoCallHasTheCorrelation) {
  std::vector<KinetoEvent> events = {event("aten::linear", 0, 100), event("aten::addmm", 0, 50),
                                     event("aten::relu", 200, 50), launch(20, 5), launch(210, 9)};
  events[0].external_id = 1;
  events[1].external_id = 2;
  events[2].external_id = 3;
  events.push_back(device_event("by correlation", 5, 2));
  events.push_back(device_event("of a call that began before its child", -1, 1));
  events.push_back(device_event("of a call that is not shown", 7, 3));
  const auto link_all = [](std::vector<KinetoEvent> all) {
    const Profile profile = profile_of(std::move(all));
    et_schema::DeviceTimeline device = et_schema::device_timeline(profile);
    std::vector<std::string_view> operators;
    for (const et_schema::DeviceEvent& event : device.events) {
      if (event.launcher != et_schema::kUnknownEvent) {
        operators.push_back(profile.events[event.launcher].name);
      }
    }
    return std::pair(std::move(device), std::move(operators));
  };
  const auto [device, operators] = link_all(events);
  EXPECT_EQ(operators,
            (std::vector<std::string_view>{"aten::addmm", "aten::linear", "aten::relu"}));
  EXPECT_EQ(device.by_external_id, 2U);
  EXPECT_TRUE(device.lost.empty()) << "relu's launch is that of an event without correlation";

  events.back().external_id = 7;  // its correlation: an old profile, whose ids all lie
  const auto [old, old_operators] = link_all(events);
  EXPECT_EQ(old_operators, (std::vector<std::string_view>{"aten::addmm"}));
  EXPECT_EQ(old.by_external_id, 0U);
  EXPECT_EQ(old.lost.size(), 1U);

  events.back().external_id = 3;
  events.push_back(launch(5000, 11));  // ends behind aten::relu by 4.75 µs
  events.push_back(device_event("of a call just outside of its operator", 11, 3));
  EXPECT_EQ(link_all(events).second.back(), "aten::relu");
  events.erase(events.end() - 2, events.end());

  events.back().ts_ns = 100;  // before its operator
  EXPECT_EQ(link_all(events).first.by_external_id, 0U);
}

// ---- times of nodes and instructions

TEST(LinkTimes, WhatPythonTakesBelowAnOperatorIsNoOperators) {
  for (const char* python : {"PythonSubclass", "PythonDispatchMode"}) {
    SCOPED_TRACE(python);
    test::TraceBuilder builder;
    const auto x = test::tensor(1, 11, {4});
    const std::uint64_t relu =
        builder.add(2, "aten::relu", test::kRelu, {x}, {test::tensor(2, 12, {4})});
    const std::uint64_t label = builder.add(relu, python, "", {}, {});
    builder.add(label, "aten::clamp_min", "aten::clamp_min(Tensor self, Scalar min) -> Tensor",
                {x, test::integer(0)}, {test::tensor(2, 12, {4})});
    const Link linked =
        link(builder.trace(),
             profile_of({event("ProfilerStep#4", 100, 2000, KinetoCategory::kUserAnnotation),
                         event("aten::relu", 200, 1500), event(python, 250, 1400),
                         event("aten::clamp_min", 300, 300)}));
    EXPECT_EQ(operators_ns(linked), 100 + 300);
  }
}

TEST(LinkTimes, AreMediansOverTheProfiledSteps) {
  std::vector<KinetoEvent> events;
  for (const std::int64_t gap : {10, 70, 20}) {
    for (const KinetoEvent& step_event : small_step(10000 * gap, gap)) {
      events.push_back(step_event);
    }
  }
  const et_schema::Trace trace = small_trace().trace();
  const Link linked = link(trace, profile_of(std::move(events)));
  EXPECT_EQ(linked.profile.join, et_schema::JoinKind::kOrder);
  EXPECT_EQ(linked.profile.steps, 3U);
  EXPECT_EQ(linked.profile.step_ns, 2020);
  EXPECT_EQ(linked.profile.events, 12U);
  EXPECT_EQ(linked.profile.nodes_joined, 4U);
  EXPECT_EQ(operators_ns(linked), 900);
  const auto& second = linked.nodes.at(trace.nodes.size() - 1);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->start_ns, 820);
  EXPECT_EQ(second->host_ns, 400);
  EXPECT_EQ(linked.nodes.at(trace.nodes.size() - 3)->self_ns, 200);
}

/// Ranks that are late in turn: of each the median holds waiting, which no step does of all.
TEST(LinkTimes, OfACommunicationAreThoseOfTheStepThatWaitedLeast) {
  test::TraceBuilder builder;
  const auto x = test::tensor(1, 11, {4});
  builder.add(2, "aten::relu", test::kRelu, {x}, {test::tensor(2, 12, {4})});
  builder.add(2, "c10d::allreduce_", "c10d::allreduce_(Tensor[] tensors) -> ()", {test::list({x})},
              {});
  const et_schema::Trace trace = builder.trace();
  std::vector<KinetoEvent> events;
  std::int64_t step = 0;
  for (const std::int64_t kernel_ns : {500, 90, 400}) {
    const std::int64_t begin = 10000 * ++step;
    events.push_back(event("ProfilerStep#4", begin, 2000, KinetoCategory::kUserAnnotation));
    events.push_back(event("aten::relu", begin + 100, 100));
    events.push_back(launch(begin + 150, 2 * step));
    events.push_back(event("c10d::allreduce_", begin + 300, 500));
    events.push_back(launch(begin + 400, 2 * step + 1));
    for (const std::int64_t correlation : {2 * step, 2 * step + 1}) {
      events.push_back(device_event("kernel", correlation, 0));
      events.back().dur_ns = kernel_ns;
    }
  }
  const Link linked = link(trace, profile_of(std::move(events)));
  EXPECT_EQ(linked.nodes.at(trace.nodes.size() - 2)->device_ns, 400) << "a median";
  EXPECT_EQ(linked.nodes.at(trace.nodes.size() - 1)->device_ns, 90);
}

// ---- compiled regions

constexpr const char* kRegion = "Torch-Compiled Region: 0/0";

et_schema::Trace trace_with(const std::vector<std::string>& labels) {
  test::TraceBuilder builder;
  for (const std::string& label : labels) {
    builder.add(2, label, "", {}, {});
  }
  return builder.trace();
}

TEST(CompareRegions, CountsNamesThatOnlyOneSideHas) {
  const Profile profile = profile_of({event(kRegion, 0, 10), event(kRegion, 20, 10),
                                      event("## Call CompiledFxGraph fa ##", 1, 5)});
  EXPECT_EQ(compare_regions(trace_with({kRegion, "## Call CompiledFxGraph fa ##"}), profile), 0U);
  EXPECT_EQ(compare_regions(trace_with({kRegion, "## Call CompiledFxGraph fb ##"}), profile), 2U);
  EXPECT_EQ(compare_regions(trace_with({"forward"}), profile_of({event("forward", 0, 1)})), 0U);
}

TEST(CompareRegions, RefusesAProfileOfACompiledStepForAnEagerTraceAndTheOtherWayRound) {
  const auto refusal = [](const et_schema::Trace& trace, const Profile& profile) -> std::string {
    try {
      return std::to_string(compare_regions(trace, profile));
    } catch (const et_schema::Error& error) {
      EXPECT_EQ(error.kind(), et_schema::ErrorKind::kBadInput);
      return error.context().expected + "; got " + error.context().got;
    }
  };
  EXPECT_EQ(refusal(trace_with({"forward"}), profile_of({event(kRegion, 0, 10)})),
            "as in the trace's step: none; got 1, the first \"Torch-Compiled Region: 0/0\"");
  EXPECT_EQ(refusal(trace_with({kRegion}), profile_of({event("forward", 0, 10)})),
            "as in the trace's step: 1, the first \"Torch-Compiled Region: 0/0\"; got none");
}

/// The small trace's step as a profile shows it: when its operators begin, and how long the first
/// takes.
void add_step(std::vector<KinetoEvent>& events, std::int64_t length, std::int64_t first,
              std::int64_t first_length, std::int64_t second) {
  const std::int64_t begin = 10000 * static_cast<std::int64_t>(events.size());
  events.push_back(event("ProfilerStep#4", begin, length, KinetoCategory::kUserAnnotation));
  events.push_back(event("forward", begin + 100, length - 200, KinetoCategory::kUserAnnotation));
  events.push_back(event("aten::relu", begin + first, first_length));
  events.push_back(event("aten::clamp_min", begin + first + 100, 300));
  events.push_back(event("aten::relu", begin + second, 400));
}

TEST(LinkTimes, StartsFitTheDurations) {
  // The first operator is slow in two steps, the gap behind it in two others.
  std::vector<KinetoEvent> events;
  for (const auto& [slow, gap] : {std::pair{100, 0}, {100, 50}, {0, 50}}) {
    add_step(events, 2000, 200, 500 + slow, 700 + slow + gap);
  }
  const et_schema::Trace trace = small_trace().trace();
  const Link linked = link(trace, profile_of(std::move(events)));
  const auto& first = linked.nodes.at(trace.nodes.size() - 3);
  const auto& second = linked.nodes.at(trace.nodes.size() - 1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->start_ns + first->host_ns, 800);
  EXPECT_EQ(second->start_ns, 800);  // from start to start 600, 650 and 550: the median
}

TEST(LinkTimes, WhatWaitsNowHereNowThereMakesTheStepAsLongAsTheMedianOne) {
  // 900 in each step: before the operators, between them or behind them. No median shows any.
  std::vector<KinetoEvent> events;
  for (const auto& [before, between] : {std::pair{900, 0}, {0, 900}, {0, 0}}) {
    add_step(events, 2900, 200 + before, 500, 700 + before + between);
  }
  const et_schema::Trace trace = small_trace().trace();
  const Link linked = link(trace, profile_of(std::move(events)));
  const auto& first = linked.nodes.at(trace.nodes.size() - 3);
  const auto& second = linked.nodes.at(trace.nodes.size() - 1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->start_ns, 200 + 300);
  EXPECT_EQ(second->start_ns, 700 + 600);
  EXPECT_EQ(linked.profile.step_ns, 2900);
}

TEST(LinkTimes, PageFaultsAreMeansOverTheSteps) {
  std::vector<KinetoEvent> events;
  std::int64_t begin = 0;
  for (const std::int64_t faults : {0, 90, 0}) {
    for (KinetoEvent step_event : small_step(begin, 0)) {
      step_event.page_faults = faults;
      events.push_back(step_event);
    }
    begin += 10000;
  }
  const et_schema::Trace trace = small_trace().trace();
  const Link linked = link(trace, profile_of(std::move(events)));
  EXPECT_EQ(linked.nodes.at(trace.nodes.size() - 1)->page_faults, 30);
}

TEST(LinkTimes, PageFaultsAreKnownWhereTheyWereCounted) {
  std::vector<KinetoEvent> events = small_step(5000, 0);
  events[2].page_faults = 70;
  events[3].page_faults = 50;
  const et_schema::Trace trace = small_trace().trace();
  const Link linked = link(trace, profile_of(std::move(events)));
  EXPECT_EQ(linked.nodes.at(trace.nodes.size() - 3)->page_faults, 70);
  EXPECT_EQ(linked.nodes.at(trace.nodes.size() - 2)->page_faults, 50);
  EXPECT_EQ(linked.nodes.at(trace.nodes.size() - 1)->page_faults, std::nullopt);
}

TEST(LinkTimes, GoToTheInstructions) {
  std::vector<et_schema::Trace> traces;
  traces.push_back(small_trace().trace());
  std::vector<Link> links;
  links.push_back(link(traces[0], profile_of(small_step(5000, 0))));
  const et_schema::Program program = std::move(generate(traces, {}, links).programs.front());
  ASSERT_EQ(test::names(program.instructions),
            (std::vector<std::string>{"aten::relu", "aten::relu"}));
  EXPECT_EQ(program.instructions[0].timing, (et_schema::Timing{200, 500, 200, 0, 0, {}}));
  EXPECT_EQ(program.instructions[1].timing, (et_schema::Timing{800, 400, 100, 0, 0, {}}));
  EXPECT_FALSE(program.instructions[0].body.at(0).timing);
  ASSERT_TRUE(program.profile);
  EXPECT_EQ(program.profile->step_ns, 2000);
}

TEST(LinkTimes, ACopyFromPinnedMemoryTellsThatItsSourceIsPinned) {
  for (const bool pinned : {true, false}) {
    std::vector<et_schema::Trace> traces;
    traces.push_back(small_trace().trace());
    std::vector<KinetoEvent> events = small_step(5000, 0);
    events.push_back(launch(5350, 5));
    events.push_back(device_event(
        pinned ? "Memcpy HtoD (Pinned -> Device)" : "Memcpy HtoD (Pageable -> Device)", 5, 5));
    std::vector<Link> links;
    links.push_back(link(traces[0], profile_of(std::move(events))));
    const et_schema::Program program = std::move(generate(traces, {}, links).programs.front());
    const auto& input = program.instructions[0].args[0].value;
    const auto slot = std::get<et_schema::Argument::SlotRef>(input).id;
    EXPECT_EQ(program.storages[program.slots[slot].storage].pinned, pinned);
    const auto& result = program.instructions[0].results[0].value;
    const auto made = std::get<et_schema::Argument::SlotRef>(result).id;
    EXPECT_FALSE(program.storages[program.slots[made].storage].pinned);
  }
}

TEST(LinkTimes, NodesAndEventsThatDoNotJoinAreCounted) {
  std::vector<KinetoEvent> events;
  test::TraceBuilder builder;
  for (int i = 0; i < 30; ++i) {
    const auto x = test::tensor(i, 100 + i, {4});
    builder.add(2, "aten::relu", test::kRelu, {x}, {test::tensor(i + 1, 101 + i, {4})});
    events.push_back(event("aten::relu", 100 * i, 50));
  }
  builder.add(2, "aten::only_in_the_trace", "", {}, {});
  events.push_back(event("aten::only_in_the_profile", 5000, 50));
  events.push_back(event("aten::only_in_the_profile", 5100, 50));
  const et_schema::Trace trace = builder.trace();
  const Link linked = link(trace, profile_of(std::move(events)));
  EXPECT_EQ(linked.losses[et_schema::Loss::kUnjoinedNodes], 1U + 2U);
  EXPECT_EQ(linked.profile.nodes_joined, 30U);
}

TEST(LinkTimes, AStepOnADeviceWithoutDeviceEventsIsCounted) {
  for (const char* device : {"cpu", "meta", "cuda:0", "xpu:0", "mtia:1"}) {
    test::TestValue x = test::tensor(1, 11, {4});
    x.value.replace(x.value.find("cpu"), 3, device);
    std::vector<KinetoEvent> events;
    test::TraceBuilder builder;
    for (int i = 0; i < 3; ++i) {
      builder.add(2, "aten::relu", test::kRelu, {x}, {x});
      events.push_back(event("aten::relu", 100 * i, 50));
    }
    const bool is_on_device =
        std::string_view(device) != "cpu" && std::string_view(device) != "meta";
    const et_schema::Trace trace = builder.trace();
    EXPECT_EQ(link(trace, profile_of(events)).losses[et_schema::Loss::kNoDeviceEvents],
              is_on_device ? 1U : 0U)
        << device;
    events.push_back(event("a kernel", 20, 5, KinetoCategory::kKernel));
    EXPECT_EQ(link(trace, profile_of(events)).losses[et_schema::Loss::kNoDeviceEvents], 0U);
  }
}

}  // namespace
}  // namespace understudy::generator
