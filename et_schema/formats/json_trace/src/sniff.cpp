#include "et_schema/formats/json_trace/sniff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"
#include "et_schema/base/trace_start.h"
#include "et_schema/formats/json_trace/json_objects.h"

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

}  // namespace

bool is_kineto_key(std::string_view key) {
  return std::find(kKinetoKeys.begin(), kKinetoKeys.end(), key) != kKinetoKeys.end();
}

JsonKind classify_json(std::string_view text) {
  Losses passed;
  OuterPull json(text, find_json_start(text), passed);
  const bool is_list = json.stands_on('[');
  bool first = true;
  std::string_view key;
  try {
    if (!(is_list ? json.next_item(first) : json.stands_on('{'))) {
      return JsonKind::kOther;
    }
    for (first = true; json.next_member(first, key); json.skip()) {
      if (is_list ? key == "ph" : is_kineto_key(key)) {
        return JsonKind::kKineto;
      }
      // "schema" does not decide: other files have it as well.
      if (!is_list && key == "nodes" && json.stands_on('[')) {
        return JsonKind::kTrace;
      }
    }
  } catch (const std::exception&) {
    // Neither kind is damaged before the key that tells it.
  }
  return JsonKind::kOther;
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
