#include "et_schema/formats/kineto/kineto.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "et_schema/base/arena.h"
#include "et_schema/base/content_hash.h"
#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"
#include "et_schema/formats/json_trace/json_objects.h"
#include "et_schema/formats/json_trace/sniff.h"
#include "event_reader.h"
#include "kineto_header.h"

namespace understudy::et_schema {
namespace {

using simdjson::SUCCESS;

/// The keys that may follow an event's name.
constexpr std::array<std::string_view, 11> kEventKeys = {"pid", "tid", "ts", "dur", "args", "cat",
                                                         "ph",  "id",  "bp", "s",   "name"};

/// Hint for a file of several profiles.
constexpr const char* kHowToDivide = "give each profile as a file of its own";

[[noreturn]] void fail(std::string summary, std::string field, std::string expected,
                       std::string got, std::string hint = {}) {
  throw bad_input(std::move(summary), {.field = std::move(field),
                                       .expected = std::move(expected),
                                       .got = std::move(got),
                                       .hint = std::move(hint)});
}

class KinetoParser {
 public:
  KinetoParser(std::string_view json, Profile& profile, Arena& arena, KinetoDetail detail)
      : profile_(profile),
        detail_(detail),
        outer_(json, check_start(json, JsonKind::kKineto), profile.losses),
        events_(profile, arena, detail) {}

  void parse();

 private:
  void read_members();
  void read_member(std::string_view key);
  void read_events();
  void refuse_twice() const;
  void correlate_by_external_ids();
  void add_base_time();

  Profile& profile_;
  KinetoDetail detail_;
  OuterPull outer_;
  EventReader events_;
  bool has_events_ = false;
};

void KinetoParser::parse() {
  const bool is_whole =
      outer_.read_file([this] { outer_.stands_on('[') ? read_events() : read_members(); });
  events_.close();
  if (!has_events_) {
    fail("not a Kineto trace", "traceEvents", "a list of events", "nothing",
         "give the chrome trace that torch.profiler.profile wrote");
  }
  if (profile_.events.empty()) {
    fail("a profile without events", "traceEvents", "at least one event with a duration",
         is_whole ? "none" : "a file cut off before the end of its first event",
         "profile again, with the step inside of the profiler's active window");
  }
  events_.origin().check(profile_, detail_);
  refuse_twice();
  correlate_by_external_ids();
  add_base_time();
  if (!profile_.distributed) {
    profile_.distributed = distributed_of_calls(profile_);
  }
}

void KinetoParser::read_members() {
  std::string_view key;
  for (bool first = true; outer_.next_member(first, key);) {
    read_member(key);
  }
}

void KinetoParser::read_events() {
  if (std::exchange(has_events_, true)) {
    fail("two lists of events", "traceEvents", "one list", "a second one", kHowToDivide);
  }
  read_objects(outer_, profile_.losses, {"traceEvents", "an event", "events", kEventKeys},
               [this](JsonPull& event) { events_.read(event); });
}

void KinetoParser::read_member(std::string_view key) {
  if (key == "traceEvents") {
    read_events();
    return;
  }
  if (key == "nodes" && outer_.stands_on('[')) {
    fail("not a Kineto trace: this is an execution trace", "nodes", "a list of traceEvents",
         "a PyTorch execution trace", "give the profile of the same run");
  }
  JsonPull start = outer_;
  const std::string_view text = outer_.skip();
  profile_.not_run |= key == "notRun";
  const bool is_known = key == "schemaVersion" || key == "baseTimeNanoseconds" ||
                        key == "deviceProperties" || key == "computeProperties" ||
                        key == "distributedInfo";
  if (!is_known) {
    return;
  }
  if (key == "schemaVersion") {
    profile_.schema_version = lenient_integer(start);
    return;
  }
  if (key == "baseTimeNanoseconds") {
    profile_.base_time_ns = lenient_integer(start);
    if (profile_.base_time_ns < 0) {
      fail("the base time cannot be read", std::string(key), "nanoseconds from 0 to 2^63 - 1",
           quote(text));
    }
    return;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element value;
  if (parser.parse(text.data(), text.size()).get(value) != SUCCESS) {
    fail("not JSON", std::string(key), "a value", quote(text));
  }
  if (key == "deviceProperties" || key == "computeProperties") {  // before PyTorch 1.9
    profile_.devices = read_devices(value, profile_.losses);
  } else {
    profile_.distributed = read_distributed(value, profile_.losses);
  }
}

/// Refuses a file in which a tool joined copies of one profile: all device times would double, and
/// operators would nest in themselves.
void KinetoParser::refuse_twice() const {
  const auto identity = [](const KinetoEvent& event) {
    return std::tuple(event.pid, event.tid, event.ts_ns, event.dur_ns, event.external_id,
                      event.correlation, event.category, event.name.data());
  };
  const KinetoEvent& first = profile_.events.front();
  const auto is_first = [&](const KinetoEvent& event) {
    return identity(event) == identity(first);
  };
  if (std::ranges::count_if(profile_.events, is_first) < 2) {
    return;
  }
  std::vector<const KinetoEvent*> sorted;
  for (const KinetoEvent& event : profile_.events) {
    sorted.push_back(&event);
  }
  std::ranges::sort(sorted, {}, [&](const KinetoEvent* event) { return identity(*event); });
  // clang 14 does not compile the subrange of std::ranges::unique.
  const auto is_same = [&](const KinetoEvent* left, const KinetoEvent* right) {
    return identity(*left) == identity(*right);
  };
  const auto different =
      static_cast<std::size_t>(std::unique(sorted.begin(), sorted.end(), is_same) - sorted.begin());
  if (sorted.size() > 2 && 2 * different <= sorted.size()) {
    fail("a profile that is several times in one file", "traceEvents", "each event once",
         fmt::format("{} events, of which {} are different ones", sorted.size(), different),
         "give one of the profiles that the file was joined of");
  }
}

/// Sets correlations from "External id" in profiles of tools other than Kineto, where a launch and
/// its kernel share an "External id" and have no correlation. Profiles in which launches share ids
/// are unchanged: PyTorch's own ids name operators, which may launch several kernels.
void KinetoParser::correlate_by_external_ids() {
  const auto takes_part = [](const KinetoEvent& event) {
    return event.category == KinetoCategory::kRuntime || is_device_work(event);
  };
  std::set<std::int64_t> launches;
  for (const KinetoEvent& event : profile_.events) {
    if (!takes_part(event)) {
      continue;
    }
    const bool is_launch = event.category == KinetoCategory::kRuntime && event.external_id > 0;
    if (event.correlation >= 0 || (is_launch && !launches.insert(event.external_id).second)) {
      return;
    }
  }
  for (KinetoEvent& event : profile_.events) {
    if (takes_part(event) && launches.contains(event.external_id)) {
      event.correlation = event.external_id;
    }
  }
}

void KinetoParser::add_base_time() {
  // Times are adjusted here because the base time may come after the events.
  const auto add = [&](std::int64_t& ts_ns) {
    if (__builtin_add_overflow(ts_ns, profile_.base_time_ns, &ts_ns)) {
      fail("an event's time overflows", "ts", "nanoseconds below 2^63 with the base time",
           fmt::format("base time {}", profile_.base_time_ns));
    }
  };
  for (KinetoEvent& event : profile_.events) {
    add(event.ts_ns);
  }
  for (KinetoMemory& event : profile_.memory) {
    add(event.ts_ns);
  }
}

}  // namespace

RecordedDevice Profile::device(std::int64_t pid) const {
  const auto listed = std::ranges::find(devices, pid, &KinetoDevice::id);
  if (listed != devices.end()) {
    return *listed;
  }
  const bool is_one_name = std::ranges::adjacent_find(devices, std::not_equal_to(),
                                                      &KinetoDevice::name) == devices.end();
  return devices.empty() || !is_one_name ? RecordedDevice() : RecordedDevice(devices.front());
}

Profile parse_kineto(std::string_view json, const std::string& file, KinetoDetail detail) {
  constexpr std::size_t kArenaShare = 64;
  constexpr std::size_t kSmallestArena = 4096;
  Profile profile;
  profile.file = file;
  profile.content_bytes = json.size();
  profile.content_hash = content_hash(json);
  profile.arena = std::make_unique<std::pmr::monotonic_buffer_resource>(
      std::max(json.size() / kArenaShare, kSmallestArena));
  Arena arena(*profile.arena);
  try {
    KinetoParser(json, profile, arena, detail).parse();
  } catch (const Error& error) {
    throw error.with_file(file);
  }
  return profile;
}

}  // namespace understudy::et_schema
