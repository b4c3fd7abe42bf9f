#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "et_schema/base/json_record.h"
#include "et_schema/formats/bench/bench.h"

namespace understudy::et_schema {

// What manifest.json, and the documents of `generate` and `inspect`, hold of a program's records
// (record.h). docs/formats.md describes the keys.

[[nodiscard]] std::optional<Outside> outside_named(std::string_view name);
/// Returns all reasons: "…" or "…".
[[nodiscard]] const std::string& outside_names();
[[nodiscard]] std::optional<JoinKind> join_named(std::string_view name);
[[nodiscard]] std::optional<DeviceWait::For> wait_named(std::string_view name);

void members(auto& walk, SameAs<Opened> auto& opened) {
  walk("name", opened.name);
  walk("count", opened.count);
  walk("reason", opened.reason);
  walk.unless(0, "own_ns", opened.own_ns);
}

void members(auto& walk, SameAs<Selection> auto& selection) {
  walk("step", selection.step);
  walk("filters", selection.filters, kFreeText);
  walk("operators", selection.operators);
  walk("labels", selection.labels);
  walk("rounds", selection.rounds);
  walk("opened", selection.opened);
}

void members(auto& walk, SameAs<LostDeviceEvents> auto& lost) {
  walk("name", lost.name);
  walk("reason", lost.reason);
  walk("count", lost.count);
  walk("device_ns", lost.device_ns);
}

void members(auto& walk, SameAs<KernelClassTime> auto& time) {
  walk("class", time.kernel_class);
  walk("ns", time.ns);
}

void members(auto& walk, SameAs<OutsideTime> auto& row) {
  walk("why", row.why, Names{outside_named, outside_names().c_str()});
  walk.if_any("name", row.name, kFreeText);
  walk("host_ns", row.host_ns);
  walk("device_ns", row.device_ns);
  walk.if_any("classes", row.kernel_classes);
}

void members(auto& walk, SameAs<DeviceWait> auto& wait) {
  walk("start_ns", wait.start_ns);
  walk("host_ns", wait.host_ns);
  walk("for", wait.waits_for, Names{wait_named, R"("device", "stream" or "event")"});
  walk.unless(0, "own_ns", wait.own_ns, AtLeast{0});
  walk.unless(false, "is_inside", wait.is_inside);
  walk.unless(std::size_t{0}, "thread", wait.thread);
  walk.unless(std::nullopt, "work", wait.work);
}

void members(auto& walk, SameAs<StreamWait> auto& wait) {
  walk("start_ns", wait.start_ns);
  walk.unless(std::nullopt, "stream", wait.stream);
  walk("for_stream", wait.for_stream);
  walk("until_ns", wait.until_ns);
}

void members(auto& walk, SameAs<StepInterval> auto& interval) {
  walk("low_ns", interval.low_ns);
  walk("high_ns", interval.high_ns);
}

void members(auto& walk, SameAs<RecordedProfile> auto& profile) {
  walk("file", profile.file);
  walk.if_any("device", profile.device.name, kFreeText);
  walk.unless(0, "device_processors", profile.device.processors, AtLeast{0});
  walk.unless(0, "device_memory_bytes", profile.device.memory_bytes, AtLeast{0});
  walk.if_any("graph_run", profile.graph_run);
  walk("bytes", profile.bytes);
  walk.hash("content_hash", profile.content_hash);
  walk("join", profile.join, Names{join_named, R"("record function id", "order" or "own")"});
  walk("steps", profile.steps);
  walk("step_ns", profile.step_ns);
  walk.unless(0, "length_ns", profile.length_ns, AtLeast{0});
  walk.unless(false, "host_runs_ahead", profile.host_runs_ahead);
  walk("unprofiled_step_ns", profile.unprofiled_step_ns);
  walk.unless(std::nullopt, "unprofiled_interval", profile.unprofiled_interval);
  walk.unless(std::nullopt, "profiled_step_ns", profile.profiled_step_ns);
  walk("minor_faults", profile.minor_faults);
  walk("profiled_minor_faults", profile.profiled_minor_faults);
  walk("observer_ns_per_event", profile.observer_ns_per_event);
  walk("observer_source", profile.observer_source);
  walk("events", profile.events);
  walk("nodes", profile.nodes);
  walk("nodes_with_rf_id", profile.nodes_with_rf_id);
  walk("nodes_joined", profile.nodes_joined);
  walk("device_events", profile.device_events);
  walk("device_events_linked", profile.device_events_linked);
  walk("operators_ns", profile.operators_ns);
  walk("operators_device_ns", profile.operators_device_ns);
  walk("lost", profile.lost);
  walk.if_any("outside", profile.outside);
  walk.if_any("kernel_settings", profile.kernel_settings, kFreeText);
  walk.if_any("variables", profile.variables, kFreeText);
  walk.if_any("operator_counters", profile.operator_counters, kNullIsNan);
  walk.if_any("counters", profile.counters, kNullIsNan);
  walk.if_any("device_waits", profile.device_waits);
  walk.if_any("stream_waits", profile.stream_waits);
}

void members(auto& walk, SameAs<ScaledGroup> auto& group) {
  walk("name", group.name);
  walk("description", group.description);
  walk("kind", group.kind);
  walk("why", group.why, kFreeText);
  walk("rule", group.rule, kFreeText);
  walk("ranks_before", group.ranks_before, AtLeast{1});
  walk("ranks_after", group.ranks_after, AtLeast{1});
  walk("calls", group.calls);
  walk("sent_bytes_before", group.sent_bytes_before, AtLeast{0});
  walk("sent_bytes_after", group.sent_bytes_after, AtLeast{0});
  walk("received_bytes_before", group.received_bytes_before, AtLeast{0});
  walk("received_bytes_after", group.received_bytes_after, AtLeast{0});
}

void members(auto& walk, SameAs<ScaledJob> auto& scaled) {
  walk("world_size", scaled.world_size, AtLeast{1});
  walk("ranks", scaled.ranks);
  walk("groups", scaled.groups);
}

}  // namespace understudy::et_schema
