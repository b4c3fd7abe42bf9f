#include "et_schema/formats/json_trace/json_objects.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <string>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"
#include "json_repair.h"

namespace understudy::et_schema {
namespace {

[[noreturn]] void fail(std::string summary, std::string_view field, std::string expected,
                       std::string got, std::string hint = {}) {
  throw bad_input(std::move(summary), {.field = std::string(field),
                                       .expected = std::move(expected),
                                       .got = std::move(got),
                                       .hint = std::move(hint)});
}

constexpr const char* kTopLevel = "the top level";

/// Maximum size of a damaged object. Real ones have at most some hundred kilobytes, and the parser
/// needs about 14 times an object's size in memory.
constexpr std::size_t kMaxObjectBytes = std::size_t{64} << 20U;

class ObjectsReader {
 public:
  ObjectsReader(OuterPull& outer, Losses& losses, const ObjectsKind& kind,
                const std::function<void(JsonPull&)>& read)
      : outer_(outer),
        losses_(losses),
        kind_(kind),
        read_(read),
        is_utf8_(simdjson::validate_utf8(outer.rest())) {}

  void read_all() {
    if (!outer_.stands_on('[')) {
      fail(fmt::format("the {} are no list", kind_.many), kind_.list, "an array",
           quote(outer_.rest()));
    }
    // An unescaped quote swaps the inside and outside of strings up to the end of the file. So
    // after the first damage, all objects are read as damaged: names are repaired before brackets
    // are matched, in linear time.
    bool is_damaged = false;
    for (bool first = true; outer_.next_item(first);) {
      if (!outer_.stands_on('{')) {
        fail(fmt::format("{} is no object", kind_.one), kind_.list, "{", quote(outer_.rest()));
      }
      is_damaged = is_damaged || !read_whole();
      if (is_damaged) {
        read_damaged();
      }
    }
  }

 private:
  /// Returns true if the object at this position is completely valid JSON.
  [[nodiscard]] bool is_valid() {
    const ScanResult scan = scan_brackets(outer_.rest(), 0);
    return scan.status == ScanStatus::kComplete && scan.end <= kMaxObjectBytes &&
           parser_.parse(outer_.rest().data(), scan.end).error() == simdjson::SUCCESS;
  }

  /// Returns false without moving if the object is damaged.
  [[nodiscard]] bool read_whole() {
    if (!is_utf8_ && !is_valid()) {
      return false;
    }
    const Losses losses = losses_;
    try {
      JsonPull object = outer_;
      read_(object);
      outer_.move_to(object);
      return true;
    } catch (const JsonDamage&) {
      // read_damaged() repairs the object, or refuses it with its position.
    } catch (const Error&) {
      if (is_valid()) {  // damage can look like a wrong field
        throw;
      }
    }
    losses_ = losses;
    return false;
  }

  void read_damaged() {
    const RepairedObject object = repair_object(outer_.rest(), kind_.keys);
    if (object.status == ScanStatus::kTooDeep) {
      throw too_deep();
    }
    if (object.status == ScanStatus::kCutOff) {
      outer_.move_by(outer_.rest().size());
      throw JsonDamage();
    }
    if (object.text.size() > kMaxObjectBytes) {
      fail(fmt::format("{} is too large", kind_.one), kind_.list,
           fmt::format("{} of at most 64 MiB", kind_.many),
           fmt::format("{} bytes", object.text.size()));
    }
    const simdjson::error_code error = parser_.parse(object.text).error();
    if (error != simdjson::SUCCESS) {
      fail(fmt::format("{} is no valid JSON", kind_.one), kind_.list, "JSON",
           fmt::format("{} in the {} at byte {}: {}", simdjson::error_message(error),
                       kind_.one.substr(kind_.one.find(' ') + 1), outer_.position(),
                       quote(outer_.rest())));
    }
    losses_.add(Loss::kRepairedJson, object.repairs);
    JsonPull repaired(object.text);
    read_(repaired);
    outer_.move_by(object.end);
  }

  OuterPull& outer_;
  Losses& losses_;
  const ObjectsKind& kind_;
  const std::function<void(JsonPull&)>& read_;
  bool is_utf8_;
  simdjson::dom::parser parser_;
};

}  // namespace

bool OuterPull::next(bool& first, char open, char close) {
  const bool is_first = std::exchange(first, false);
  if (is_first) {
    expect(open);
  }
  std::uint64_t commas = 0;
  for (skip_space(); stands_on(','); skip_space()) {
    expect(',');
    ++commas;
  }
  if (is_at_end()) {
    throw JsonDamage();
  }
  const bool is_over = stands_on(close);
  const std::uint64_t expected = is_first || is_over ? 0 : 1;
  losses_.add(Loss::kRepairedJson, commas > expected ? commas - expected : expected - commas);
  if (is_over) {
    expect(close);
  }
  return !is_over;
}

std::string_view OuterPull::skip() {
  if (stands_on('{') || stands_on('[')) {
    return JsonPull::skip();
  }
  const std::string_view text = rest();
  const bool is_text = stands_on('"');
  const std::size_t end = is_text ? find_string_end(text, 1) : text.find_first_of(",}] \t\r\n");
  if (end == std::string_view::npos) {
    move_by(text.size());
    throw JsonDamage();
  }
  move_by(end + (is_text ? 1 : 0));
  return text.substr(0, text.size() - rest().size());
}

bool OuterPull::read_file(const std::function<void()>& read) {
  try {
    read();
  } catch (const JsonDamage&) {
    if (is_at_end()) {
      losses_.add(Loss::kTruncatedFiles);
      return false;
    }
    fail("not JSON", kTopLevel, "JSON", quote(rest()));
  }
  skip_space();
  if (stands_on('{') || stands_on('[')) {
    fail("several files in one", kTopLevel, "one",
         fmt::format("another from byte {} on: {}", position(), quote(rest())),
         "they were joined, as cat does: give each as a file of its own");
  }
  if (!is_at_end()) {
    fail("text after the end", kTopLevel, "nothing after the last bracket", quote(rest()));
  }
  return true;
}

void read_objects(OuterPull& outer, Losses& losses, const ObjectsKind& kind,
                  const std::function<void(JsonPull&)>& read) {
  ObjectsReader(outer, losses, kind, read).read_all();
}

}  // namespace understudy::et_schema
