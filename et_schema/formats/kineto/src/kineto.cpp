#include "et_schema/kineto/kineto.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "et_schema/json_trace/escaped_name.h"
#include "et_schema/json_trace/json_cursor.h"
#include "et_schema/json_trace/sniff.h"
#include "et_schema/support/arena.h"
#include "et_schema/support/content_hash.h"
#include "et_schema/support/error.h"
#include "et_schema/support/json_depth.h"
#include "et_schema/support/json_element.h"
#include "et_schema/support/json_repair.h"
#include "et_schema/support/json_scan.h"
#include "et_schema/support/quote.h"
#include "kineto_category.h"
#include "kineto_header.h"

namespace understudy::et_schema {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::element;

constexpr std::size_t kMaxEventBytes = std::size_t{64} << 20U;
constexpr std::int64_t kNsPerUs = 1000;

/// Keys that follow an event's name.
constexpr std::array<std::string_view, 11> kEventKeys = {"pid", "tid", "ts", "dur", "args", "cat",
                                                         "ph",  "id",  "bp", "s",   "name"};

[[noreturn]] void fail(std::string summary, std::string field, std::string expected,
                       std::string got, std::string hint = {}) {
  throw bad_input(std::move(summary), {.field = std::move(field),
                                       .expected = std::move(expected),
                                       .got = std::move(got),
                                       .hint = std::move(hint)});
}

/// Integers stand as such or, in some versions, as text ("0x0" for streams of AMD devices).
std::int64_t lenient_integer(element value) {
  constexpr int kHex = 16;
  constexpr int kDecimal = 10;
  std::int64_t number = -1;
  if (value.get_int64().get(number) == SUCCESS) {
    return number;
  }
  std::string_view text;
  if (value.get_string().get(text) != SUCCESS) {
    return -1;
  }
  const bool is_hex = text.starts_with("0x");
  if (is_hex) {
    text.remove_prefix(2);
  }
  number = -1;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, is_hex ? kHex : kDecimal);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

/// Microseconds, whole or with three decimals, to nanoseconds.
std::int64_t read_time(element value, std::string_view field) {
  std::int64_t whole = 0;
  std::int64_t result = 0;
  if (value.get_int64().get(whole) == SUCCESS) {
    if (__builtin_mul_overflow(whole, kNsPerUs, &result)) {
      fail("an event's time overflows", std::string(field), "nanoseconds below 2^63",
           describe(value));
    }
    return result;
  }
  double fraction = 0;
  // Far from the ends of the range, so that sums of two times cannot overflow either.
  constexpr double kMostUs = 4e15;
  if (value.get_double().get(fraction) != SUCCESS || !(std::abs(fraction) < kMostUs)) {
    fail("an event's time cannot be read", std::string(field), "microseconds", describe(value));
  }
  // A product of doubles would be rounded once more, which can cost a nanosecond.
  return std::llround(static_cast<long double>(fraction) * kNsPerUs);
}

class KinetoParser {
 public:
  KinetoParser(std::string_view json, Profile& profile, Arena& arena, KinetoDetail detail)
      : json_(json),
        profile_(profile),
        arena_(arena),
        detail_(detail),
        cursor_(json, check_start(json, JsonKind::kKineto) + 1, profile.losses) {}

  void parse();

 private:
  void read_member(std::string_view key);
  void read_header(std::string_view key, element value);
  void read_events();
  void read_event();
  void add_event(element value);
  void add_memory(simdjson::dom::object object);
  /// Whether they name a device or a stream.
  bool read_arguments(KinetoEvent& event, KinetoComm& comm, element value);
  void read_communication(KinetoComm& comm, std::string_view key, element value);
  void read_shape(std::string_view key, element value);
  void add_base_time();
  [[nodiscard]] std::string_view intern(std::string_view text);
  [[nodiscard]] simdjson::error_code parse_slice(std::size_t begin, std::size_t end,
                                                 element& value);

  std::string_view json_;
  Profile& profile_;
  Arena& arena_;
  KinetoDetail detail_;
  JsonCursor cursor_;
  simdjson::dom::parser parser_;
  /// Names repeat: a profile of 100,000 events has some hundred.
  std::unordered_map<std::string_view, std::string_view> texts_;
  std::string shape_;  ///< of the event that is being read
  bool has_events_ = false;
  bool is_damaged_ = false;
};

std::string_view KinetoParser::intern(std::string_view text) {
  const auto found = texts_.find(text);
  if (found != texts_.end()) {
    return found->second;
  }
  const std::string_view copy = arena_.copy(text);
  const std::string_view name = escaped_name(copy, arena_, profile_.losses);
  texts_.emplace(copy, name);
  return name;
}

simdjson::error_code KinetoParser::parse_slice(std::size_t begin, std::size_t end, element& value) {
  const bool copy = end + simdjson::SIMDJSON_PADDING > json_.size();
  return parser_.parse(json_.data() + begin, end - begin, copy).get(value);
}

void KinetoParser::parse() {
  for (bool first = true; cursor_.next_item(first, '}'); first = false) {
    const std::optional<std::string_view> key = cursor_.read_key();
    if (!key) {
      break;
    }
    read_member(*key);
  }
  cursor_.refuse_rest();
  if (!has_events_) {
    fail("not a Kineto trace", "traceEvents", "a list of events", "nothing",
         "give the chrome trace that torch.profiler.profile wrote");
  }
  if (profile_.events.empty()) {
    fail("a profile without events", "traceEvents", "at least one event with a duration",
         cursor_.is_cut_off() ? "a file cut off before the end of its first event" : "none",
         "profile again, with the step inside of the profiler's active window");
  }
  add_base_time();
}

void KinetoParser::read_member(std::string_view key) {
  if (key == "traceEvents") {
    read_events();
    return;
  }
  if (key == "nodes" && cursor_.stands_on('[')) {
    fail("not a Kineto trace: this is an execution trace", "nodes", "a list of traceEvents",
         "a PyTorch execution trace", "give the profile of the same run");
  }
  const std::size_t begin = cursor_.position();
  const std::string_view text = cursor_.skip_value();
  const bool is_known = key == "schemaVersion" || key == "baseTimeNanoseconds" ||
                        key == "deviceProperties" || key == "distributedInfo";
  if (cursor_.is_cut_off() || !is_known) {
    return;
  }
  element value;
  if (parse_slice(begin, cursor_.position(), value) != SUCCESS) {
    fail("not JSON", std::string(key), "a value", quote(text));
  }
  read_header(key, value);
}

void KinetoParser::read_header(std::string_view key, element value) {
  if (key == "schemaVersion") {
    profile_.schema_version = lenient_integer(value);
  } else if (key == "baseTimeNanoseconds") {
    profile_.base_time_ns = lenient_integer(value);
    if (profile_.base_time_ns < 0) {
      fail("the base time cannot be read", std::string(key), "nanoseconds from 0 to 2^63 - 1",
           describe(value));
    }
  } else if (key == "deviceProperties") {
    profile_.devices = read_devices(value, profile_.losses);
  } else {
    profile_.distributed = read_distributed(value, profile_.losses);
  }
}

void KinetoParser::read_events() {
  if (has_events_) {
    fail("two lists of events", "traceEvents", "one list", "a second one");
  }
  has_events_ = true;
  if (!cursor_.stands_on('[')) {
    fail("the events are no list", "traceEvents", "an array", quote(cursor_.rest()));
  }
  cursor_.move_to(cursor_.position() + 1);
  for (bool first = true; cursor_.next_item(first, ']'); first = false) {
    if (!cursor_.stands_on('{')) {
      fail("an event is no object", "traceEvents", "{", quote(cursor_.rest()));
    }
    read_event();
  }
}

void KinetoParser::read_event() {
  const std::size_t begin = cursor_.position();
  element value;
  if (!is_damaged_) {
    const ScanResult scan = scan_brackets(json_, begin);
    if (scan.status == ScanStatus::kComplete && scan.end - begin <= kMaxEventBytes &&
        parse_slice(begin, scan.end, value) == SUCCESS) {
      add_event(value);
      cursor_.move_to(scan.end);
      return;
    }
    // As in a trace: an unescaped quote may have turned the strings inside out.
    is_damaged_ = true;
  }
  const RepairedObject event = repair_object(json_, begin, kEventKeys);
  if (event.status == ScanStatus::kTooDeep) {
    fail_too_deep();
  }
  if (event.status == ScanStatus::kCutOff) {
    profile_.losses.add(Loss::kTruncatedNodes);
    cursor_.cut_off();
    return;
  }
  if (event.text.size() > kMaxEventBytes) {
    fail("an event is too large", "traceEvents", "events of at most 64 MiB",
         fmt::format("{} bytes", event.text.size()));
  }
  const simdjson::error_code error = parser_.parse(event.text).get(value);
  if (error != SUCCESS) {
    fail("an event is no valid JSON", "traceEvents", "JSON",
         fmt::format("{} in the event at byte {}: {}", simdjson::error_message(error), begin,
                     quote(cursor_.rest())));
  }
  profile_.losses.add(Loss::kRepairedNames, event.name_repaired ? 1 : 0);
  profile_.losses.add(Loss::kRepairedCommas, event.commas_repaired);
  add_event(value);
  cursor_.move_to(event.end);
}

void KinetoParser::add_event(element value) {
  simdjson::dom::object object;
  if (value.get_object().get(object) != SUCCESS) {
    fail("an event is no object", "traceEvents", "{", quote(cursor_.rest()));
  }
  KinetoEvent event;
  KinetoComm comm;
  std::string_view phase;
  std::string_view name;
  std::string_view category;
  bool is_on_device = false;
  shape_.clear();
  for (const auto [key, field] : object) {
    if (key == "ph") {
      phase = field.is_string() ? std::string_view(field) : std::string_view();
      if (phase != "X") {
        add_memory(object);
        ++profile_.other_events[std::string(phase.substr(0, 1))];
        return;
      }
    } else if (key == "cat") {
      category = field.is_string() ? std::string_view(field) : std::string_view();
    } else if (key == "name") {
      name = field.is_string() ? std::string_view(field) : std::string_view();
    } else if (key == "pid") {
      event.pid = field.is_string() ? -1 : lenient_integer(field);
    } else if (key == "tid") {
      event.tid = field.is_string() ? -1 : lenient_integer(field);
    } else if (key == "ts") {
      event.ts_ns = read_time(field, key);
    } else if (key == "dur") {
      event.dur_ns = read_time(field, key);
    } else if (key == "args") {
      is_on_device = read_arguments(event, comm, field);
    }
  }
  if (phase.empty()) {
    ++profile_.other_events[""];
    return;
  }
  event.name = intern(name);
  event.category_text = intern(category);
  event.category = category_of(category);
  event.shape = intern(shape_);
  if (event.category == KinetoCategory::kOther && is_on_device && !is_beside_work(category)) {
    profile_.losses.add(Loss::kUnknownDeviceEvents);
  }
  if (event.category == KinetoCategory::kKernel && !comm.name.empty()) {
    comm.event = profile_.events.size();
    profile_.comms.push_back(comm);
  }
  profile_.events.push_back(event);
}

/// Of the instant events those named "[memory]" are kept.
void KinetoParser::add_memory(simdjson::dom::object object) {
  std::string_view name;
  element time;
  element arguments;
  element bytes;
  element address;
  if (object["name"].get(name) != SUCCESS || name != "[memory]" ||
      object["ts"].get(time) != SUCCESS || object["args"].get(arguments) != SUCCESS ||
      arguments["Bytes"].get(bytes) != SUCCESS || arguments["Addr"].get(address) != SUCCESS) {
    return;
  }
  constexpr std::int64_t kCpu = 0;  // c10::DeviceType::CPU
  element device;
  const bool on_cpu =
      arguments["Device Type"].get(device) != SUCCESS || lenient_integer(device) == kCpu;
  profile_.memory.push_back({read_time(time, "ts"),
                             static_cast<std::uint64_t>(lenient_integer(address)),
                             lenient_integer(bytes), on_cpu});
}

bool KinetoParser::read_arguments(KinetoEvent& event, KinetoComm& comm, element value) {
  simdjson::dom::object object;
  if (value.get_object().get(object) != SUCCESS) {
    return false;
  }
  bool is_on_device = false;
  for (const auto [key, field] : object) {
    if (key == "External id" || key == "external id") {
      event.external_id = lenient_integer(field);
    } else if (key == "Record function id") {
      event.rf_id = lenient_integer(field);
    } else if (key == "correlation") {
      event.correlation = lenient_integer(field);
    } else if (key == "stream") {
      event.stream = lenient_integer(field);
    } else if (key == "Sequence number") {
      event.sequence = lenient_integer(field);
    } else if (key == "bytes") {
      event.bytes = lenient_integer(field);
    } else if (key == "pagefaults") {
      event.page_faults = lenient_integer(field);
    } else {
      read_communication(comm, key, field);
      read_shape(key, field);
    }
    is_on_device = is_on_device || key == "stream" || key == "device";
  }
  return is_on_device;
}

void KinetoParser::read_communication(KinetoComm& comm, std::string_view key, element value) {
  const auto text = [&] {
    return value.is_string() ? intern(std::string_view(value)) : std::string_view();
  };
  if (key == "Collective name") {
    comm.name = text();
  } else if (key == "dtype") {
    comm.dtype = text();
  } else if (key == "In msg nelems") {
    comm.in_elements = lenient_integer(value);
  } else if (key == "Out msg nelems") {
    comm.out_elements = lenient_integer(value);
  } else if (key == "Group size") {
    comm.ranks_in_group = lenient_integer(value);
  } else if (key == "Process Group Name") {
    comm.group = text();
  } else if (key == "Process Group Ranks") {
    comm.ranks = text();
  }
}

void KinetoParser::read_shape(std::string_view key, element value) {
  if (detail_ == KinetoDetail::kShapes &&
      (key == "grid" || key == "block" || key == "Input Dims")) {
    shape_ += simdjson::minify(value);
  }
}

void KinetoParser::add_base_time() {
  // The base time may stand behind the events.
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
