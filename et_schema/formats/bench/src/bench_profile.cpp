#include "bench_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace understudy::et_schema {
namespace {

constexpr std::string_view kJoinNames[] = {"record function id", "order", "own"};
constexpr std::string_view kWaitNames[] = {"device", "stream", "event"};
constexpr std::array<std::string_view, kOutsideCount> kOutsideNames = {"opened operators",
                                                                       "wrapped operators",
                                                                       "operators without memory",
                                                                       "left out by a filter",
                                                                       "label without operator",
                                                                       "graph launch",
                                                                       "unlinked"};

std::optional<JoinKind> join_named(std::string_view name) {
  return value_named(name, {JoinKind::kRecordFunctionId, JoinKind::kOrder, JoinKind::kOwn});
}

std::optional<DeviceWait::For> wait_named(std::string_view name) {
  return value_named(name,
                     {DeviceWait::For::kDevice, DeviceWait::For::kStream, DeviceWait::For::kEvent});
}

std::optional<Outside> outside_named(std::string_view name) {
  const auto* const found = std::ranges::find(kOutsideNames, name);
  return found == kOutsideNames.end()
             ? std::nullopt
             : std::optional(static_cast<Outside>(found - kOutsideNames.begin()));
}

}  // namespace

std::string_view to_string(JoinKind join) {
  return kJoinNames[static_cast<std::size_t>(join)];
}

std::string_view to_string(DeviceWait::For waits_for) {
  return kWaitNames[static_cast<std::size_t>(waits_for)];
}

std::string_view to_string(Outside why) {
  return kOutsideNames[static_cast<std::size_t>(why)];
}

void members(auto& json, SameAs<LostDeviceEvents> auto& lost) {
  json("name", lost.name);
  json("reason", lost.reason);
  json("count", lost.count);
  json("device_ns", lost.device_ns);
}

void members(auto& json, SameAs<OutsideTime> auto& row) {
  static const std::string kExpected = fmt::format("\"{}\"", fmt::join(kOutsideNames, "\" or \""));
  json("why", row.why, Names{outside_named, kExpected.c_str()});
  json.if_any("name", row.name, kFreeText);
  json("host_ns", row.host_ns);
  json("device_ns", row.device_ns);
}

void members(auto& json, SameAs<HostProbe> auto& probe) {
  json("kind", probe.kind);
  json("us", probe.us);
}

void members(auto& json, SameAs<DeviceWait> auto& wait) {
  json("start_ns", wait.start_ns);
  json("host_ns", wait.host_ns);
  json("for", wait.waits_for, Names{wait_named, R"("device", "stream" or "event")"});
}

static void profile_members(auto& json, SameAs<RecordedProfile> auto& profile) {
  json("file", profile.file);
  json("bytes", profile.bytes);
  json.hash("content_hash", profile.content_hash);
  json("join", profile.join, Names{join_named, R"("record function id", "order" or "own")"});
  json("steps", profile.steps);
  json("step_ns", profile.step_ns);
  json("unprofiled_step_ns", profile.unprofiled_step_ns);
  json("minor_faults", profile.minor_faults);
  json("profiled_minor_faults", profile.profiled_minor_faults);
  json("observer_ns_per_event", profile.observer_ns_per_event);
  json("observer_source", profile.observer_source);
  json("events", profile.events);
  json("nodes", profile.nodes);
  json("nodes_with_rf_id", profile.nodes_with_rf_id);
  json("nodes_joined", profile.nodes_joined);
  json("device_events", profile.device_events);
  json("device_events_linked", profile.device_events_linked);
  json("operators_ns", profile.operators_ns);
  json("operators_device_ns", profile.operators_device_ns);
  json("lost", profile.lost);
  json.if_any("outside", profile.outside);
  json.if_any("kernel_settings", profile.kernel_settings, kFreeText);
  json.if_any("variables", profile.variables, kFreeText);
  json.unless(std::nullopt, "host_probe", profile.host_probe);
  json.if_any("device_waits", profile.device_waits);
}

nlohmann::ordered_json json_value(const RecordedProfile& profile) {
  JsonWriter json;
  profile_members(json, profile);
  return json.take();
}

void read_value(const JsonField& field, RecordedProfile& profile) {
  JsonReader json(field);
  profile_members(json, profile);
}

}  // namespace understudy::et_schema
