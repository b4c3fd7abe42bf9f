#include "et_schema/formats/json_trace/sniff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/json_scan.h"
#include "et_schema/base/quote.h"
#include "et_schema/base/trace_start.h"

namespace understudy::et_schema {
namespace {

constexpr std::array<std::string_view, 6> kKinetoKeys = {"traceEvents",      "schemaVersion",
                                                         "deviceProperties", "distributedInfo",
                                                         "displayTimeUnit",  "baseTimeNanoseconds"};

/// Description of the expected kind of file, for errors.
struct Wanted {
  std::string_view name;
  std::string_view file;  ///< what such a file holds
  std::string_view writer;
  std::string_view source;  ///< hint for a Chakra trace
};

constexpr Wanted kWantedTrace = {
    "a PyTorch execution trace", R"(a JSON object with "schema" and "nodes")",
    "give the file that torch.profiler.ExecutionTraceObserver wrote, or a Kineto profile",
    "give the PyTorch execution trace (JSON) that it was converted from"};
constexpr Wanted kWantedProfile = {"a Kineto trace",
                                   R"(a JSON object with "traceEvents", or a list of events)",
                                   "give the chrome trace that torch.profiler.profile wrote",
                                   "give the profile (JSON) that it was made with"};

[[noreturn]] void refuse_start(const Wanted& wanted, std::string summary, std::string got,
                               std::string_view hint) {
  throw bad_input(std::move(summary), {.field = "the start of the file",
                                       .expected = std::string(wanted.file),
                                       .got = std::move(got),
                                       .hint = std::string(hint)});
}

bool is_binary(std::string_view text) {
  constexpr std::size_t kHeader = 512;
  const std::string_view header = text.substr(0, kHeader);
  return std::any_of(header.begin(), header.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\t' && c != '\n' && c != '\r';
  });
}

/// Skips the value at `position`. Returns the end of the text if the value is cut or damaged.
std::size_t skip_value(std::string_view text, std::size_t position) {
  if (position >= text.size()) {
    return text.size();
  }
  if (text[position] == '{' || text[position] == '[') {
    const ScanResult scan = scan_brackets(text, position);
    return scan.status == ScanStatus::kComplete ? scan.end : text.size();
  }
  if (text[position] == '"') {
    const std::size_t end = find_string_end(text, position + 1);
    return end == std::string_view::npos ? text.size() : end + 1;
  }
  return std::min(text.find_first_of(",}", position), text.size());
}

}  // namespace

bool is_kineto_key(std::string_view key) {
  return std::find(kKinetoKeys.begin(), kKinetoKeys.end(), key) != kKinetoKeys.end();
}

JsonKind classify_json(std::string_view text) {
  std::size_t position = find_json_start(text);
  const bool is_list = position < text.size() && text[position] == '[';
  if (is_list) {
    position = skip_space(text, position + 1);
  }
  if (position >= text.size() || text[position] != '{') {
    return JsonKind::kOther;
  }
  ++position;
  while (true) {
    position = std::min(text.find_first_not_of(", \t\r\n", position), text.size());
    if (position >= text.size() || text[position] != '"') {
      return JsonKind::kOther;
    }
    const std::size_t end = find_string_end(text, position + 1);
    if (end == std::string_view::npos) {
      return JsonKind::kOther;
    }
    const std::string_view key = text.substr(position + 1, end - position - 1);
    if (is_list ? key == "ph" : is_kineto_key(key)) {
      return JsonKind::kKineto;
    }
    position = skip_space(text, end + 1);
    if (position >= text.size() || text[position] != ':') {
      return JsonKind::kOther;
    }
    position = skip_space(text, position + 1);
    // "schema" does not decide: other files have it as well.
    if (!is_list && key == "nodes" && position < text.size() && text[position] == '[') {
      return JsonKind::kTrace;
    }
    position = skip_value(text, position);
  }
}

std::size_t check_start(std::string_view text, JsonKind kind) {
  const Wanted& wanted = kind == JsonKind::kKineto ? kWantedProfile : kWantedTrace;
  const std::size_t position = find_json_start(text);
  if (position >= text.size()) {
    refuse_start(wanted, "an empty file", "nothing",
                 "capture again, or look whether the copy was complete");
  }
  const std::string none = fmt::format("not {}", wanted.name);
  if (text[position] == '{' || (kind == JsonKind::kKineto && classify_json(text) == kind)) {
    return position;
  }
  if (starts_as_chakra(text)) {
    refuse_start(wanted, none + ": this is a Chakra protobuf trace", "a Chakra protobuf",
                 wanted.source);
  }
  if (is_binary(text)) {
    refuse_start(wanted, "not JSON", "binary data",
                 fmt::format("give {}, plain or gzipped", wanted.name));
  }
  refuse_start(wanted, text[position] == '[' ? none : "not JSON", quote(text.substr(position)),
               wanted.writer);
}

void refuse_kineto_key(std::string_view key) {
  if (is_kineto_key(key)) {
    throw bad_input("not a PyTorch execution trace: this is a Kineto trace",
                    {.field = std::string(key),
                     .expected = R"(a JSON object with "schema" and "nodes")",
                     .got = "a Kineto (chrome) trace",
                     .hint = "give the execution trace of the same run; understudy inspect "
                             "--device-time shows a profile"});
  }
}

}  // namespace understudy::et_schema
