#include "bench_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "et_schema/support/json_text.h"

namespace understudy::et_schema {
namespace {

constexpr std::string_view kJoinNames[] = {"record function id", "order", "own"};

JoinKind read_join(const JsonField& field) {
  for (const JoinKind join : {JoinKind::kRecordFunctionId, JoinKind::kOrder, JoinKind::kOwn}) {
    if (to_string(join) == field.as_text()) {
      return join;
    }
  }
  field.fail(R"("record function id", "order" or "own")");
}

constexpr std::string_view kWaitNames[] = {"device", "stream", "event"};

DeviceWait read_wait(const JsonField& field) {
  DeviceWait wait{field.at("start_ns").as_int(), field.at("host_ns").as_int(),
                  DeviceWait::For::kDevice};
  for (const auto waits_for :
       {DeviceWait::For::kDevice, DeviceWait::For::kStream, DeviceWait::For::kEvent}) {
    if (to_string(waits_for) == field.at("for").as_text()) {
      wait.waits_for = waits_for;
      return wait;
    }
  }
  field.at("for").fail(R"("device", "stream" or "event")");
}

constexpr std::array<std::string_view, kOutsideCount> kOutsideNames = {"opened operators",
                                                                       "wrapped operators",
                                                                       "operators without memory",
                                                                       "left out by a filter",
                                                                       "label without operator",
                                                                       "graph launch",
                                                                       "unlinked"};

OutsideTime read_outside(const JsonField& field) {
  const JsonField why = field.at("why");
  const auto* const name = std::ranges::find(kOutsideNames, why.as_text());
  if (name == kOutsideNames.end()) {
    why.fail(fmt::format("\"{}\"", fmt::join(kOutsideNames, "\" or \"")));
  }
  const auto named = field.find("name");
  return {static_cast<Outside>(name - kOutsideNames.begin()),
          named ? named->as_free_text() : std::string(), field.at("host_ns").as_int(),
          field.at("device_ns").as_int()};
}

// Keys that older files lack, written where there is something to say.
void append_waits(std::string& out, const std::vector<DeviceWait>& waits) {
  if (waits.empty()) {
    return;
  }
  out += ",\"device_waits\":[";
  for (const DeviceWait& wait : waits) {
    out += fmt::format(R"({}{{"start_ns":{},"host_ns":{},"for":"{}"}})",
                       &wait == waits.data() ? "" : ",", wait.start_ns, wait.host_ns,
                       to_string(wait.waits_for));
  }
  out += "]";
}

void append_outside(std::string& out, const std::vector<OutsideTime>& rows) {
  if (rows.empty()) {
    return;
  }
  out += ",\"outside\":[";
  for (const OutsideTime& row : rows) {
    out += fmt::format(R"({}{{"why":"{}")", &row == rows.data() ? "" : ",", to_string(row.why));
    if (!row.name.empty()) {
      out += ",\"name\":";
      append_json_string(out, row.name);
    }
    out += fmt::format(R"(,"host_ns":{},"device_ns":{}}})", row.host_ns, row.device_ns);
  }
  out += "]";
}

void append_probe(std::string& out, const std::optional<HostProbe>& probe) {
  if (!probe) {
    return;
  }
  out += ",\"host_probe\":{\"kind\":";
  append_json_string(out, probe->kind);
  out += ",\"us\":";
  append_json_double(out, probe->us);
  out += "}";
}

std::string or_null(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "null";
}

/// Nothing where there are none.
void append_texts(std::string& out, std::string_view key,
                  const std::map<std::string, std::string>& texts) {
  if (texts.empty()) {
    return;
  }
  out += fmt::format(",\"{}\":{{", key);
  bool is_first = true;
  for (const auto& [name, text] : texts) {
    out += is_first ? "" : ",";
    is_first = false;
    append_json_string(out, name);
    out += ':';
    append_json_string(out, text);
  }
  out += '}';
}

std::map<std::string, std::string> read_texts(const JsonField& profile, const char* key) {
  std::map<std::string, std::string> texts;
  if (const auto field = profile.find(key)) {
    for (const auto& [name, text] : field->members()) {
      texts[name] = text.as_free_text();
    }
  }
  return texts;
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

void append_profile(std::string& out, const RecordedProfile& profile) {
  out += "{\"file\":";
  append_json_string(out, profile.file);
  out += fmt::format(
      R"(,"bytes":{},"content_hash":"{:016x}","join":"{}","steps":{},"step_ns":{},)"
      R"("unprofiled_step_ns":{},"minor_faults":{},"profiled_minor_faults":{},"observer_ns_per_event":)",
      profile.bytes, profile.content_hash, to_string(profile.join), profile.steps, profile.step_ns,
      or_null(profile.unprofiled_step_ns), or_null(profile.minor_faults),
      or_null(profile.profiled_minor_faults));
  append_json_double(out, profile.observer_ns_per_event);
  out += ",\"observer_source\":";
  append_json_string(out, profile.observer_source);
  out += fmt::format(
      R"(,"events":{},"nodes":{},"nodes_with_rf_id":{},"nodes_joined":{},"device_events":{},)"
      R"("device_events_linked":{},"operators_ns":{},"operators_device_ns":{},"lost":[)",
      profile.events, profile.nodes, profile.nodes_with_rf_id, profile.nodes_joined,
      profile.device_events, profile.device_events_linked, profile.operators_ns,
      profile.operators_device_ns);
  for (const LostDeviceEvents& lost : profile.lost) {
    out += &lost == profile.lost.data() ? "{\"name\":" : ",{\"name\":";
    append_json_string(out, lost.name);
    out += ",\"reason\":";
    append_json_string(out, lost.reason);
    out += fmt::format(R"(,"count":{},"device_ns":{}}})", lost.count, lost.device_ns);
  }
  out += ']';
  append_outside(out, profile.outside);
  append_texts(out, "kernel_settings", profile.kernel_settings);
  append_texts(out, "variables", profile.variables);
  append_probe(out, profile.host_probe);
  append_waits(out, profile.device_waits);
  out += '}';
}

RecordedProfile read_profile(const JsonField& field) {
  RecordedProfile profile;
  profile.file = field.at("file").as_text();
  profile.bytes = field.at("bytes").as_uint();
  profile.content_hash = field.at("content_hash").as_hash();
  profile.join = read_join(field.at("join"));
  profile.steps = field.at("steps").as_uint();
  profile.step_ns = field.at("step_ns").as_int();
  if (const JsonField unprofiled = field.at("unprofiled_step_ns"); !unprofiled.is_null()) {
    profile.unprofiled_step_ns = unprofiled.as_int();
  }
  if (const JsonField faults = field.at("minor_faults"); !faults.is_null()) {
    profile.minor_faults = faults.as_int();
  }
  if (const JsonField faults = field.at("profiled_minor_faults"); !faults.is_null()) {
    profile.profiled_minor_faults = faults.as_int();
  }
  profile.observer_ns_per_event = field.at("observer_ns_per_event").as_double();
  profile.observer_source = field.at("observer_source").as_text();
  profile.events = field.at("events").as_uint();
  profile.nodes = field.at("nodes").as_uint();
  profile.nodes_with_rf_id = field.at("nodes_with_rf_id").as_uint();
  profile.nodes_joined = field.at("nodes_joined").as_uint();
  profile.device_events = field.at("device_events").as_uint();
  profile.device_events_linked = field.at("device_events_linked").as_uint();
  profile.operators_ns = field.at("operators_ns").as_int();
  profile.operators_device_ns = field.at("operators_device_ns").as_int();
  for (const JsonField& lost : field.at("lost").items()) {
    profile.lost.push_back({lost.at("name").as_text(), lost.at("reason").as_text(),
                            lost.at("count").as_uint(), lost.at("device_ns").as_int()});
  }
  if (const auto outside = field.find("outside")) {
    for (const JsonField& row : outside->items()) {
      profile.outside.push_back(read_outside(row));
    }
  }
  profile.kernel_settings = read_texts(field, "kernel_settings");
  profile.variables = read_texts(field, "variables");
  if (const auto probe = field.find("host_probe")) {
    profile.host_probe = {probe->at("kind").as_text(), probe->at("us").as_double()};
  }
  if (const auto waits = field.find("device_waits")) {
    for (const JsonField& wait : waits->items()) {
      profile.device_waits.push_back(read_wait(wait));
    }
  }
  return profile;
}

}  // namespace understudy::et_schema
