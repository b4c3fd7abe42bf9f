#include "et_schema/kineto/kineto.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "et_schema/json_trace/escaped_name.h"
#include "et_schema/json_trace/json_objects.h"
#include "et_schema/json_trace/json_pull.h"
#include "et_schema/json_trace/sniff.h"
#include "et_schema/support/arena.h"
#include "et_schema/support/content_hash.h"
#include "et_schema/support/error.h"
#include "et_schema/support/quote.h"
#include "event_pairs.h"
#include "kineto_event.h"
#include "kineto_header.h"

namespace understudy::et_schema {
namespace {

using simdjson::SUCCESS;

constexpr std::int64_t kNsPerUs = 1000;

/// The keys that may follow an event's name.
constexpr std::array<std::string_view, 11> kEventKeys = {"pid", "tid", "ts", "dur", "args", "cat",
                                                         "ph",  "id",  "bp", "s",   "name"};

/// What to do with a file of several profiles.
constexpr const char* kHowToDivide = "give each profile as a file of its own";

/// The category of Python's frames.
constexpr const char* kPythonFrame = "python_function";

[[noreturn]] void fail(std::string summary, std::string field, std::string expected,
                       std::string got, std::string hint = {}) {
  throw bad_input(std::move(summary), {.field = std::move(field),
                                       .expected = std::move(expected),
                                       .got = std::move(got),
                                       .hint = std::move(hint)});
}

/// A text; none if the value is something else.
std::string_view take_text(JsonPull& value, std::string& unescaped) {
  std::string_view text;
  if (!value.take(text, unescaped)) {
    value.skip();
  }
  return text;
}

/// Reads integers that are numbers or, in some versions, texts ("0x0" for streams of AMD devices).
std::int64_t lenient_integer(JsonPull& value) {
  constexpr int kHex = 16;
  constexpr int kDecimal = 10;
  std::int64_t number = -1;
  if (value.take(number)) {
    return number;
  }
  std::string unescaped;
  std::string_view text = take_text(value, unescaped);
  const bool is_hex = text.starts_with("0x");
  if (is_hex) {
    text.remove_prefix(2);
  }
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, is_hex ? kHex : kDecimal);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

/// A number, which tools that rewrite profiles may have made a text.
bool take_number(JsonPull& value, double& number) {
  if (!value.stands_on('"')) {
    return value.take(number);
  }
  std::string unescaped;
  const std::string_view text = take_text(value, unescaped);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Converts microseconds, whole or with three decimals, to nanoseconds.
std::int64_t read_time(JsonPull& value, std::string_view field) {
  const JsonPull whole_value = value;
  std::int64_t whole = 0;
  std::int64_t result = 0;
  if (value.take(whole)) {
    if (__builtin_mul_overflow(whole, kNsPerUs, &result)) {
      fail("an event's time overflows", std::string(field), "nanoseconds below 2^63",
           describe(whole_value));
    }
    return result;
  }
  double fraction = 0;
  // This is far from the ends of the range, so that sums of two times cannot overflow either.
  constexpr double kMostUs = 4e15;
  if (!take_number(value, fraction) || !(std::abs(fraction) < kMostUs)) {
    fail("an event's time cannot be read", std::string(field), "microseconds",
         describe(whole_value));
  }
  // A product of doubles would be rounded once more, which can cost a nanosecond.
  return std::llround(static_cast<long double>(fraction) * kNsPerUs);
}

class KinetoParser {
 public:
  KinetoParser(std::string_view json, Profile& profile, Arena& arena, KinetoDetail detail)
      : json_(json),
        profile_(profile),
        detail_(detail),
        cursor_(json, check_start(json, JsonKind::kKineto), profile.losses),
        arena_(arena),
        names_(arena, profile.losses) {}

  void parse();

 private:
  void read_members();
  void read_member(std::string_view key);
  void read_events();
  void read_number(std::string_view key, std::string_view text);
  void read_event(JsonPull& json);
  /// Fills in what follows from all that was read of the event.
  void complete(KinetoEvent& event, std::string_view category, bool is_on_device);
  void keep(const KinetoEvent& event, KinetoComm comm);
  void add_memory(JsonPull event);
  /// Reads the arguments; returns whether they name a device or a stream.
  bool read_arguments(KinetoEvent& event, KinetoComm& comm, JsonPull& object);
  /// Takes a member of a known name; false if the name is not known.
  bool read_communication(KinetoComm& comm, std::string_view key, JsonPull& value);
  void refuse_twice() const;
  void add_base_time();
  [[nodiscard]] std::string_view take_name(JsonPull& value) {
    return names_(take_text(value, unescaped_));
  }

  std::string_view json_;
  Profile& profile_;
  KinetoDetail detail_;
  JsonCursor cursor_;
  Arena& arena_;
  InternedNames names_;
  std::string shape_;        ///< of the current event
  ArgumentLists arguments_;  ///< of the current event
  EventPairs pairs_;
  std::string unescaped_;
  bool has_events_ = false;
};

void KinetoParser::parse() {
  if (cursor_.stands_on('[')) {
    read_events();
  } else {
    read_members();
  }
  cursor_.refuse_rest();
  for (const EventPairs::Begun& pair : pairs_.take(profile_.losses)) {
    keep(pair.event, pair.comm);
  }
  if (!has_events_) {
    fail("not a Kineto trace", "traceEvents", "a list of events", "nothing",
         "give the chrome trace that torch.profiler.profile wrote");
  }
  if (profile_.events.empty()) {
    fail("a profile without events", "traceEvents", "at least one event with a duration",
         cursor_.is_cut_off() ? "a file cut off before the end of its first event" : "none",
         "profile again, with the step inside of the profiler's active window");
  }
  refuse_twice();
  add_base_time();
}

void KinetoParser::read_members() {
  cursor_.move_to(cursor_.position() + 1);
  for (bool first = true; cursor_.next_item(first, '}'); first = false) {
    const std::optional<std::string_view> key = cursor_.read_key();
    if (!key) {
      break;
    }
    read_member(*key);
  }
}

void KinetoParser::read_events() {
  if (std::exchange(has_events_, true)) {
    fail("two lists of events", "traceEvents", "one list", "a second one", kHowToDivide);
  }
  read_objects(json_, cursor_, profile_.losses, {"traceEvents", "an event", "events", kEventKeys},
               [this](JsonPull& event) { read_event(event); });
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
  const std::string_view text = cursor_.skip_value();
  const bool is_known = key == "schemaVersion" || key == "baseTimeNanoseconds" ||
                        key == "deviceProperties" || key == "distributedInfo";
  if (cursor_.is_cut_off() || !is_known) {
    return;
  }
  if (key == "schemaVersion" || key == "baseTimeNanoseconds") {
    read_number(key, text);
    return;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element value;
  if (parser.parse(text.data(), text.size()).get(value) != SUCCESS) {
    fail("not JSON", std::string(key), "a value", quote(text));
  }
  if (key == "deviceProperties") {
    profile_.devices = read_devices(value, profile_.losses);
  } else {
    profile_.distributed = read_distributed(value, profile_.losses);
  }
}

void KinetoParser::read_number(std::string_view key, std::string_view text) {
  try {
    JsonPull value(text);
    (key == "schemaVersion" ? profile_.schema_version : profile_.base_time_ns) =
        lenient_integer(value);
  } catch (const JsonDamage&) {
    fail("not JSON", std::string(key), "a value", quote(text));
  }
  if (profile_.base_time_ns < 0) {
    fail("the base time cannot be read", std::string(key), "nanoseconds from 0 to 2^63 - 1",
         quote(text));
  }
}

void KinetoParser::read_event(JsonPull& json) {
  const JsonPull whole = json;
  KinetoEvent event;
  KinetoComm comm;
  std::string_view category;
  std::string_view key;
  bool is_on_device = false;
  char phase = 0;
  shape_.clear();
  arguments_ = {};
  for (bool first = true; json.next_member(first, key);) {
    if (key == "ph") {
      const std::string_view text = take_text(json, unescaped_);
      if (text != "X" && text != "B" && text != "E") {
        const std::string first_letter(text.substr(0, 1));
        json = whole;
        json.skip();
        add_memory(whole);
        ++profile_.other_events[first_letter];
        return;
      }
      phase = text.front();
    } else if (key == "cat") {
      const std::string_view text = take_text(json, unescaped_);
      if (text == kPythonFrame && phase == 'X') {
        json = whole;
        json.skip();
        ++profile_.other_events[kPythonFrame];
        return;
      }
      category = names_(text);
    } else if (key == "name") {
      event.name = take_name(json);
    } else if (key == "pid") {
      event.pid = lenient_integer(json);
    } else if (key == "tid") {
      event.tid = lenient_integer(json);
    } else if (key == "ts") {
      event.ts_ns = read_time(json, key);
    } else if (key == "dur") {
      event.dur_ns = read_time(json, key);
    } else if (key == "args" && json.stands_on('{')) {
      is_on_device = read_arguments(event, comm, json);
    } else {
      json.skip();
    }
  }
  if (phase == 'E') {
    pairs_.end(event);
    return;
  }
  complete(event, category, is_on_device);
  if (phase == 'B') {
    pairs_.begin(event, comm);
  } else if (phase == 'X') {
    keep(event, comm);
  } else {
    ++profile_.other_events[""];
  }
}

void KinetoParser::complete(KinetoEvent& event, std::string_view category, bool is_on_device) {
  event.category_text = category;
  event.category = event.name.starts_with("ProfilerStep#") && category == "Operator"
                       ? KinetoCategory::kUserAnnotation
                       : category_of(category);
  event.shape = names_(shape_);
  if (event.category == KinetoCategory::kOther && is_on_device && !is_beside_work(category)) {
    profile_.losses.add(Loss::kUnknownDeviceEvents);
  }
  if (detail_ == KinetoDetail::kArguments && event.category == KinetoCategory::kCpuOp) {
    event.arguments = read_operator_arguments(arguments_, arena_);
  }
}

void KinetoParser::keep(const KinetoEvent& event, KinetoComm comm) {
  if (event.category_text == kPythonFrame) {
    ++profile_.other_events[kPythonFrame];
    return;
  }
  const bool is_kernel = event.category == KinetoCategory::kKernel;
  const bool is_asked_operator =
      detail_ == KinetoDetail::kArguments && event.category == KinetoCategory::kCpuOp;
  if (!comm.name.empty() && (is_kernel || is_asked_operator)) {
    comm.event = profile_.events.size();
    (is_kernel ? profile_.comms : profile_.host_comms).push_back(comm);
  }
  profile_.events.push_back(event);
}

/// Keeps an instant event if its name is "[memory]".
void KinetoParser::add_memory(JsonPull event) {
  constexpr std::int64_t kCpu = 0;  // c10::DeviceType::CPU
  std::string_view key;
  std::string_view name;
  std::optional<std::int64_t> time_ns;
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> address;
  std::int64_t device = kCpu;
  std::int64_t allocated_bytes = -1;
  for (bool first = true; event.next_member(first, key);) {
    if (key == "name") {
      name = take_text(event, unescaped_);
      if (name != "[memory]") {
        return;
      }
    } else if (key == "ts") {
      time_ns = read_time(event, key);
    } else if (key == "args" && event.stands_on('{')) {
      for (bool first_argument = true; event.next_member(first_argument, key);) {
        if (key == "Bytes") {
          bytes = lenient_integer(event);
        } else if (key == "Addr") {
          address = lenient_integer(event);
        } else if (key == "Device Type") {
          device = lenient_integer(event);
        } else if (key == "Total Allocated") {
          allocated_bytes = lenient_integer(event);
        } else {
          event.skip();
        }
      }
    } else {
      event.skip();
    }
  }
  if (name == "[memory]" && time_ns && bytes && address) {
    profile_.memory.push_back(
        {*time_ns, static_cast<std::uint64_t>(*address), *bytes, device == kCpu, allocated_bytes});
  }
}

bool KinetoParser::read_arguments(KinetoEvent& event, KinetoComm& comm, JsonPull& object) {
  bool is_on_device = false;
  std::string_view key;
  for (bool first = true; object.next_member(first, key);) {
    if (key == "External id" || key == "external id") {
      event.external_id = lenient_integer(object);
    } else if (key == "Record function id") {
      event.rf_id = lenient_integer(object);
    } else if (key == "correlation") {
      event.correlation = lenient_integer(object);
    } else if (key == "stream") {
      event.stream = lenient_integer(object);
    } else if (key == "wait_on_stream") {
      event.wait_stream = lenient_integer(object);
    } else if (key == "wait_on_cuda_event_record_corr_id") {
      event.record_correlation = lenient_integer(object);
    } else if (key == "Sequence number") {
      event.sequence = lenient_integer(object);
    } else if (key == "bytes") {
      event.bytes = lenient_integer(object);
    } else if (key == "pagefaults") {
      event.page_faults = lenient_integer(object);
    } else if (!read_communication(comm, key, object)) {
      if (detail_ == KinetoDetail::kArguments) {
        arguments_.keep(key, object);
        if (key == "Fwd thread id") {
          event.forward_thread = lenient_integer(object);
          continue;
        }
        if (key == "kernel_backend" || key == "kernel_file") {
          (key == "kernel_file" ? event.kernel_file : event.kernel_backend) = take_name(object);
          continue;
        }
      }
      if (detail_ >= KinetoDetail::kShapes &&
          (key == "grid" || key == "block" || key == "Input Dims" || key == "Input dims")) {
        shape_ += minified(object);
      }
      object.skip();
    }
    is_on_device = is_on_device || key == "stream" || key == "device";
  }
  return is_on_device;
}

bool KinetoParser::read_communication(KinetoComm& comm, std::string_view key, JsonPull& value) {
  if (key == "Collective name") {
    comm.name = take_name(value);
  } else if (key == "dtype") {
    comm.dtype = take_name(value);
  } else if (key == "In msg nelems") {
    comm.in_elements = lenient_integer(value);
  } else if (key == "Out msg nelems") {
    comm.out_elements = lenient_integer(value);
  } else if (key == "Group size") {
    comm.ranks_in_group = lenient_integer(value);
  } else if (key == "Process Group Name") {
    comm.group = take_name(value);
  } else if (key == "Process Group Ranks") {
    comm.ranks = take_name(value);
  } else if (key == "Process Group Description") {
    comm.group_description = take_name(value);
  } else if (key == "In split size") {
    comm.in_splits = take_name(value);
  } else if (key == "Out split size") {
    comm.out_splits = take_name(value);
  } else if (key == "Global rank start") {
    comm.global_rank_start = lenient_integer(value);
  } else if (key == "Global rank stride") {
    comm.global_rank_stride = lenient_integer(value);
  } else if (key == "Rank") {
    comm.rank = lenient_integer(value);
  } else if (key == "Seq") {
    comm.sequence = lenient_integer(value);
  } else {
    return false;
  }
  return true;
}

/// A tool that joins profiles may have put one in twice: all times of devices would be double, and
/// operators lie in themselves.
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
  // clang 14 refuses the subrange that std::ranges::unique gives.
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

void KinetoParser::add_base_time() {
  // The base time may come after the events.
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

std::string Profile::device_name(std::int64_t pid) const {
  const auto listed = std::ranges::find(devices, pid, &KinetoDevice::id);
  if (listed != devices.end()) {
    return listed->name;
  }
  const bool is_one_name = std::ranges::adjacent_find(devices, std::not_equal_to(),
                                                      &KinetoDevice::name) == devices.end();
  return devices.empty() || !is_one_name ? std::string() : devices.front().name;
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
