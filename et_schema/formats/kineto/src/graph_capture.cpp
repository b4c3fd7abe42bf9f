#include "et_schema/formats/kineto/graph_capture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/base/arena.h"
#include "et_schema/base/error.h"
#include "et_schema/base/file_name.h"
#include "et_schema/formats/kineto/device_timeline.h"
#include "et_schema/formats/kineto/nested_events.h"

namespace understudy::et_schema {
namespace {

constexpr std::string_view kCaptureMark = "capture_";

/// A captured graph: the time around its capture, and its launches in order.
struct CapturedGraph {
  std::string_view name;  ///< "16_FULL"; empty: the whole profile
  Stretch time{0, std::numeric_limits<std::int64_t>::max()};
  std::vector<KinetoEvent> launches = {};
};

std::vector<CapturedGraph> captured_graphs(const Profile& profile, const DeviceTimeline& device) {
  std::vector<CapturedGraph> graphs;
  for (const KinetoEvent& event : profile.events) {
    if (event.category == KinetoCategory::kUserAnnotation && event.name.starts_with(kCaptureMark)) {
      graphs.push_back({event.name.substr(kCaptureMark.size()), stretch_of(event)});
    }
  }
  if (graphs.empty()) {
    graphs.emplace_back();
  }
  for (CapturedGraph& graph : graphs) {
    for (const LostLaunch& lost : device.lost) {
      if (lost.why == LostBy::kCaptured && graph.time.start_ns <= lost.launch_ns &&
          lost.launch_ns < graph.time.end_ns) {
        graph.launches.push_back(profile.events[lost.call]);
      }
    }
    std::ranges::stable_sort(graph.launches, {}, &KinetoEvent::ts_ns);
  }
  return graphs;
}

using Replay = std::vector<DeviceEvent>;

/// Returns the events of each launch of a graph, the shortest first.
std::vector<Replay> graph_replays(const DeviceTimeline& device) {
  std::map<EventIndex, Replay> by_launch;
  for (const DeviceEvent& event : device.events) {
    if (event.by == LaunchedBy::kGraph) {
      by_launch[event.call].push_back(event);
    }
  }
  std::vector<Replay> replays;
  for (auto& [launch, replay] : by_launch) {
    std::ranges::stable_sort(replay, {}, &DeviceEvent::start_ns);
    replays.push_back(std::move(replay));
  }
  std::ranges::stable_sort(replays, {}, [](const Replay& replay) {
    return replay.back().end_ns - replay.front().start_ns;
  });
  return replays;
}

/// Makes the events outside of a mark unknown ones, and the mark a step's.
void keep_only(const CapturedGraph& graph, Profile& profile) {
  for (KinetoEvent& event : profile.events) {
    if (event.ts_ns < graph.time.start_ns || event.ts_ns >= graph.time.end_ns) {
      KinetoEvent unknown;
      unknown.name = event.name;
      unknown.ts_ns = event.ts_ns;
      event = unknown;
    } else if (event.name.starts_with(kCaptureMark)) {
      event.name = Arena(*profile.arena).copy(fmt::format("ProfilerStep#{}", graph.name));
    }
  }
}

/// Appends the events of a launch, as if the captured calls had launched them.
void append_events(Profile& capture, const std::vector<KinetoEvent>& calls, const Profile& run,
                   const Replay& replay) {
  Arena arena(*capture.arena);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    KinetoEvent made = run.events[replay[i].source];
    made.name = arena.copy(made.name);
    made.category_text = arena.copy(made.category_text);
    made.shape = arena.copy(made.shape);
    made.correlation = calls[i].correlation;
    made.external_id = -1;
    made.ts_ns = stretch_of(calls.back()).end_ns + replay[i].start_ns - replay.front().start_ns;
    made.dur_ns = replay[i].ns();
    capture.events.push_back(made);
  }
}

}  // namespace

bool is_graph_capture(const Profile& profile) {
  const DeviceTimeline device = device_timeline(profile);
  const std::uint64_t captured = device.count(LostBy::kCaptured);
  const bool is_marked = !captured_graphs(profile, device).front().name.empty();
  return captured > 0 && (is_marked || captured > device.events.size());
}

void add_graph_run(Profile& capture, const Profile& run, std::string_view step) {
  std::vector<CapturedGraph> graphs = captured_graphs(capture, device_timeline(capture));
  const std::vector<Replay> replays = graph_replays(device_timeline(run));
  std::set<std::size_t> sizes;
  std::ranges::transform(replays, std::inserter(sizes, sizes.end()), &Replay::size);
  std::vector<std::string> seen;
  for (const CapturedGraph& graph : graphs) {
    seen.push_back(fmt::format("{}{}{} launches", graph.name, graph.name.empty() ? "" : " of ",
                               graph.launches.size()));
  }
  std::erase_if(graphs, [&](const CapturedGraph& graph) {
    return !sizes.contains(graph.launches.size()) ||
           (!step.empty() && !graph.name.empty() && graph.name != step);
  });
  if (graphs.size() != 1) {
    throw bad_input(
        graphs.empty() ? "the run launches no such graph" : "several captured graphs fit the run",
        {.file = capture.file,
         .field = "--step",
         .expected =
             fmt::format("one graph with as many launches as {} has events: {}", run.file,
                         replays.empty() ? "none" : fmt::format("{}", fmt::join(sizes, ", "))),
         .got = fmt::format("{}", fmt::join(seen, ", ")),
         .hint = "choose the run's batch size by --step, or give the profile of another run"});
  }
  const CapturedGraph& graph = graphs.front();
  std::vector<Replay> fitting;
  std::ranges::copy_if(replays, std::back_inserter(fitting), [&](const Replay& replay) {
    return replay.size() == graph.launches.size();
  });
  keep_only(graph, capture);
  append_events(capture, graph.launches, run, fitting[(fitting.size() - 1) / 2]);
  capture.devices = run.devices;
  capture.graph_run = file_name(run.file);
}

}  // namespace understudy::et_schema
