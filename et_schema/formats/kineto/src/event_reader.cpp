#include "event_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>
#include <tuple>

#include "et_schema/base/error.h"
#include "et_schema/formats/json_trace/json_objects.h"
#include "et_schema/formats/kineto/nested_events.h"

namespace understudy::et_schema {
namespace {

constexpr std::int64_t kNsPerUs = 1000;

/// Category of Python frames.
constexpr const char* kPythonFrame = "python_function";

// Arguments of events, including the communication metadata of record_param_comms and kernels.
constexpr NamedField<KinetoEvent, std::int64_t> kEventNumbers[] = {
    {"External id", &KinetoEvent::external_id},
    {"external id", &KinetoEvent::external_id},
    {"Record function id", &KinetoEvent::rf_id},
    {"correlation", &KinetoEvent::correlation},
    {"stream", &KinetoEvent::stream},
    {"device", &KinetoEvent::device},
    {"wait_on_stream", &KinetoEvent::wait_stream},
    {"wait_on_cuda_event_record_corr_id", &KinetoEvent::record_correlation},
    {"Sequence number", &KinetoEvent::sequence},
    {"bytes", &KinetoEvent::bytes},
    {"registers per thread", &KinetoEvent::registers},
    {"shared memory", &KinetoEvent::shared_bytes},
    {"pagefaults", &KinetoEvent::page_faults}};
constexpr NamedField<KinetoComm, std::int64_t> kCommNumbers[] = {
    {"In msg nelems", &KinetoComm::in_elements},
    {"Out msg nelems", &KinetoComm::out_elements},
    {"Group size", &KinetoComm::ranks_in_group},
    {"Global rank start", &KinetoComm::global_rank_start},
    {"Global rank stride", &KinetoComm::global_rank_stride},
    {"Rank", &KinetoComm::rank},
    {"Seq", &KinetoComm::sequence}};
constexpr NamedField<KinetoComm, std::string_view> kCommNames[] = {
    {"Collective name", &KinetoComm::name},
    {"dtype", &KinetoComm::dtype},
    {"Process Group Name", &KinetoComm::group},
    {"Process Group Ranks", &KinetoComm::ranks},
    {"Process Group Description", &KinetoComm::group_description},
    {"In split size", &KinetoComm::in_splits},
    {"Out split size", &KinetoComm::out_splits}};

/// Reads a text; returns an empty one for any other value.
std::string_view take_text(JsonPull& value, std::string& unescaped) {
  std::string_view text;
  if (!value.take(text, unescaped)) {
    value.skip();
  }
  return text;
}

/// Reads a number, which tools that rewrite profiles may have quoted.
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
      throw bad_input("an event's time overflows", {.field = std::string(field),
                                                    .expected = "nanoseconds below 2^63",
                                                    .got = describe(whole_value)});
    }
    return result;
  }
  double fraction = 0;
  // Far below the limit of 64 bits, so that sums of two times cannot overflow either.
  constexpr double kMostUs = 4e15;
  if (!take_number(value, fraction) || !(std::abs(fraction) < kMostUs)) {
    throw bad_input(
        "an event's time cannot be read",
        {.field = std::string(field), .expected = "microseconds", .got = describe(whole_value)});
  }
  // A product of doubles would be rounded again, which can change a nanosecond.
  return std::llround(static_cast<long double>(fraction) * kNsPerUs);
}

/// Returns "aten::max" for "aten::max.dim", as capture_overload_names writes it; other names of
/// operators and labels as they are.
std::string_view name_of_operator(std::string_view name) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const std::size_t dot = name.find('.');
  const std::string_view op = name.substr(0, dot);
  const bool has_overload =
      dot != std::string_view::npos && op.find("::") != std::string_view::npos &&
      std::ranges::all_of(op, [&](char c) { return is_word(c) || c == ':'; }) &&
      std::ranges::all_of(name.substr(dot + 1), is_word);
  return has_overload ? op : name;
}

}  // namespace

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

std::vector<EventPairs::Begun> EventPairs::take(Losses& losses) {
  std::ranges::stable_sort(marks_, {}, [](const Mark& mark) {
    const KinetoEvent& event = mark.begun.event;
    return std::tuple(event.pid, event.tid, event.ts_ns);
  });
  std::vector<Begun> whole;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const KinetoEvent& event = marks_[i].begun.event;
    const bool is_new_thread = i > 0 && !are_on_one_thread(marks_[i - 1].begun.event, event);
    if (is_new_thread) {
      losses.add(Loss::kUnpairedEvents, open.size());
      open.clear();
    }
    if (!marks_[i].is_end) {
      open.push_back(i);
    } else if (open.empty()) {
      losses.add(Loss::kUnpairedEvents);
    } else {
      Begun& begun = whole.emplace_back(marks_[open.back()].begun);
      if (__builtin_sub_overflow(event.ts_ns, begun.event.ts_ns, &begun.event.dur_ns)) {
        begun.event.dur_ns = std::numeric_limits<std::int64_t>::max();
      }
      open.pop_back();
    }
  }
  losses.add(Loss::kUnpairedEvents, open.size());
  marks_.clear();
  return whole;
}

std::string_view EventReader::take_name(JsonPull& value) {
  return names_(take_text(value, unescaped_));
}

void EventReader::read(JsonPull& json) {
  const JsonPull whole = json;
  KinetoEvent event;
  KinetoComm comm;
  std::string_view category;
  std::string_view key;
  std::string_view pid;
  std::optional<JsonPull> arguments;
  bool is_on_device = false;
  int times = 0;
  char phase = 0;
  shape_.clear();
  arguments_ = {};
  for (bool first = true; json.next_member(first, key);) {
    if (key == "ph") {
      const std::string_view text = take_text(json, unescaped_);
      if (text != "X" && text != "B" && text != "E" && text != "f") {
        const bool is_metadata = text.starts_with('M');
        json = whole;
        json.skip();
        is_metadata ? note_process_name(whole) : add_memory(whole);
        return;
      }
      phase = text.front();
    } else if (key == "cat") {
      const std::string_view text = take_text(json, unescaped_);
      if (text == kPythonFrame && phase == 'X') {
        json = whole;
        json.skip();
        return;
      }
      category = names_(text);
    } else if (key == "name") {
      event.name = take_name(json);
    } else if (key == "pid") {
      pid = JsonPull(json).skip();
      event.pid = lenient_integer(json);
    } else if (key == "tid") {
      event.tid = lenient_integer(json);
    } else if (key == "ts") {
      event.ts_ns = read_time(json, key);
      ++times;
    } else if (key == "dur") {
      event.dur_ns = read_time(json, key);
      ++times;
    } else if (key == "args" && json.stands_on('{')) {
      arguments = json;
      is_on_device = read_arguments(event, comm, json);
    } else {
      json.skip();
    }
  }
  if (phase == 'E') {
    pairs_.end(event);
    return;
  }
  if (phase == 'f') {
    if (!is_beside_work(category)) {
      arrow_ends_.insert({event.pid, event.tid, event.ts_ns});
    }
    return;
  }
  complete(event, category, is_on_device);
  const bool is_text = pid.starts_with('"');
  origin_.note(event.category, is_text ? pid.substr(1, pid.size() - 2) : pid);
  if (phase == 'B') {
    pairs_.begin(event, comm);
  } else if (phase == 'X') {
    event.dur_ns = times < 2 && is_device_work(event) ? -1 : event.dur_ns;
    keep(event, comm);
  }
  if (category == kProfilerRange) {
    add_range(event.name, arguments);
  }
}

void EventReader::complete(KinetoEvent& event, std::string_view category, bool is_on_device) {
  event.category_text = category;
  event.category = category_of(category);
  // Up to PyTorch 1.13, labels were recorded as operators.
  if (event.category == KinetoCategory::kCpuOp &&
      (event.name.starts_with("nccl:") ||
       (event.name.starts_with("ProfilerStep#") && category == "Operator"))) {
    event.category = KinetoCategory::kUserAnnotation;
  }
  if (event.category == KinetoCategory::kCpuOp) {
    event.name = names_(name_of_operator(event.name));
  }
  event.shape = names_(shape_);
  if (event.category == KinetoCategory::kOther && is_on_device && !is_beside_work(category)) {
    profile_.losses.add(Loss::kUnknownDeviceEvents);
  }
  // ProcessGroupNCCL's labels have its tensors as arguments.
  if (detail_ == KinetoDetail::kArguments && (event.category == KinetoCategory::kCpuOp ||
                                              event.category == KinetoCategory::kUserAnnotation)) {
    event.arguments = read_operator_arguments(arguments_, arena_);
  }
}

void EventReader::keep(const KinetoEvent& event, KinetoComm comm) {
  if (event.category_text == kPythonFrame) {
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
void EventReader::add_memory(JsonPull event) {
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

void EventReader::add_range(std::string_view kernel, std::optional<JsonPull> arguments) {
  CountedKernel& range = profile_.ranges.emplace_back(CountedKernel{std::string(kernel)});
  std::string_view key;
  for (bool first = true; arguments && arguments->next_member(first, key);) {
    double value = 0;
    if (arguments->take(value)) {
      range.metrics.emplace(names_(key), value);
    } else {
      arguments->skip();
    }
  }
}

/// Reads metadata: {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "python"}}.
void EventReader::note_process_name(JsonPull event) {
  std::string_view key;
  for (bool first = true; event.next_member(first, key);) {
    if (key != "args" || !event.stands_on('{')) {
      event.skip();
      continue;
    }
    for (bool first_argument = true; event.next_member(first_argument, key);) {
      const std::string_view text = take_text(event, unescaped_);
      if (key == "name") {
        origin_.note_process(text);
      }
    }
  }
}

bool EventReader::read_arguments(KinetoEvent& event, KinetoComm& comm, JsonPull& object) {
  bool is_on_device = false;
  std::string_view key;
  for (bool first = true; object.next_member(first, key);) {
    const auto number = [&object] { return lenient_integer(object); };
    if (!take_named(kEventNumbers, event, key, number) &&
        !take_named(kCommNumbers, comm, key, number) &&
        !take_named(kCommNames, comm, key, [&] { return take_name(object); })) {
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

void EventReader::close() {
  for (const EventPairs::Begun& pair : pairs_.take(profile_.losses)) {
    keep(pair.event, pair.comm);
  }
  for (const KinetoEvent& event : profile_.events) {
    const bool is_counted = event.stream >= 0 || event.device >= 0;
    if (event.category == KinetoCategory::kOther && !is_counted &&
        arrow_ends_.contains({event.pid, event.tid, event.ts_ns})) {
      profile_.losses.add(Loss::kUnknownDeviceEvents);
    }
  }
}

}  // namespace understudy::et_schema
