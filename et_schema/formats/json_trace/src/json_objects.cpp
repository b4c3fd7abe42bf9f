#include "et_schema/formats/json_trace/json_objects.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <string>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/json_repair.h"
#include "et_schema/base/json_scan.h"
#include "et_schema/base/quote.h"

namespace understudy::et_schema {
namespace {

[[noreturn]] void fail(std::string summary, std::string expected, std::string got,
                       std::string hint = {}) {
  throw bad_input(std::move(summary), {.field = "the top level",
                                       .expected = std::move(expected),
                                       .got = std::move(got),
                                       .hint = std::move(hint)});
}

/// Maximum size of a damaged object. Real ones have at most some hundred kilobytes, and the parser
/// needs about 14 times an object's size in memory.
constexpr std::size_t kMaxObjectBytes = std::size_t{64} << 20U;

class ObjectsReader {
 public:
  ObjectsReader(std::string_view json, JsonCursor& cursor, Losses& losses, const ObjectsKind& kind,
                const std::function<void(JsonPull&)>& read)
      : json_(json),
        cursor_(cursor),
        losses_(losses),
        kind_(kind),
        read_(read),
        is_utf8_(simdjson::validate_utf8(json)) {}

  void read_all() {
    if (!cursor_.stands_on('[')) {
      fail(fmt::format("the {} are no list", kind_.many), "an array", quote(cursor_.rest()));
    }
    cursor_.move_to(cursor_.position() + 1);
    // An unescaped quote swaps the inside and outside of strings up to the end of the file. So
    // after the first damage, all objects are read as damaged: names are repaired before brackets
    // are matched, in linear time.
    bool is_damaged = false;
    for (bool first = true; cursor_.next_item(first, ']'); first = false) {
      if (!cursor_.stands_on('{')) {
        fail(fmt::format("{} is no object", kind_.one), "{", quote(cursor_.rest()));
      }
      is_damaged = is_damaged || !read_whole();
      if (is_damaged) {
        read_damaged();
      }
    }
  }

 private:
  [[noreturn]] void fail(std::string summary, std::string expected, std::string got) const {
    throw bad_input(
        std::move(summary),
        {.field = std::string(kind_.list), .expected = std::move(expected), .got = std::move(got)});
  }

  /// Returns true if the object at the cursor is completely valid JSON.
  [[nodiscard]] bool is_valid() {
    const std::size_t begin = cursor_.position();
    const ScanResult scan = scan_brackets(json_, begin);
    return scan.status == ScanStatus::kComplete && scan.end - begin <= kMaxObjectBytes &&
           parser_.parse(json_.data() + begin, scan.end - begin).error() == simdjson::SUCCESS;
  }

  /// Returns false without moving the cursor if the object is damaged.
  [[nodiscard]] bool read_whole() {
    if (!is_utf8_ && !is_valid()) {
      return false;
    }
    const Losses losses = losses_;
    try {
      JsonPull object(json_, cursor_.position());
      read_(object);
      cursor_.move_to(object.position_in(json_));
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
    const RepairedObject object = repair_object(json_, cursor_.position(), kind_.keys);
    if (object.status == ScanStatus::kTooDeep) {
      throw too_deep();
    }
    if (object.status == ScanStatus::kCutOff) {
      cursor_.cut_off();
      return;
    }
    if (object.text.size() > kMaxObjectBytes) {
      fail(fmt::format("{} is too large", kind_.one),
           fmt::format("{} of at most 64 MiB", kind_.many),
           fmt::format("{} bytes", object.text.size()));
    }
    const simdjson::error_code error = parser_.parse(object.text).error();
    if (error != simdjson::SUCCESS) {
      fail(fmt::format("{} is no valid JSON", kind_.one), "JSON",
           fmt::format("{} in the {} at byte {}: {}", simdjson::error_message(error),
                       kind_.one.substr(kind_.one.find(' ') + 1), cursor_.position(),
                       quote(cursor_.rest())));
    }
    losses_.add(Loss::kRepairedJson, object.commas_repaired + (object.name_repaired ? 1U : 0U));
    JsonPull repaired(object.text);
    read_(repaired);
    cursor_.move_to(object.end);
  }

  std::string_view json_;
  JsonCursor& cursor_;
  Losses& losses_;
  const ObjectsKind& kind_;
  const std::function<void(JsonPull&)>& read_;
  bool is_utf8_;
  simdjson::dom::parser parser_;
};

}  // namespace

void JsonCursor::cut_off() {
  if (!is_cut_off_) {
    is_cut_off_ = true;
    losses_.add(Loss::kTruncatedFiles);
  }
  position_ = json_.size();
}

bool JsonCursor::next_item(bool first, char close) {
  std::uint64_t commas = 0;
  position_ = skip_space(json_, position_);
  while (position_ < json_.size() && json_[position_] == ',') {
    ++commas;
    position_ = skip_space(json_, position_ + 1);
  }
  if (position_ >= json_.size()) {
    cut_off();
    return false;
  }
  const bool at_end = json_[position_] == close;
  const std::uint64_t expected = first || at_end ? 0 : 1;
  if (commas != expected) {
    losses_.add(Loss::kRepairedJson, commas > expected ? commas - expected : 1);
  }
  if (at_end) {
    ++position_;
  }
  return !at_end;
}

std::optional<std::string_view> JsonCursor::read_key() {
  if (json_[position_] != '"') {
    fail("not JSON", "a quoted key", quote(rest()));
  }
  const std::size_t begin = position_ + 1;
  const std::size_t end = find_string_end(json_, begin);
  if (end == std::string_view::npos) {
    cut_off();
    return std::nullopt;
  }
  const std::string_view key = json_.substr(begin, end - begin);
  position_ = skip_space(json_, end + 1);
  if (position_ < json_.size() && json_[position_] != ':') {
    fail("not JSON", fmt::format(R"(":" after "{}")", quote(key)), quote(rest()));
  }
  position_ = skip_space(json_, position_ + 1);
  if (position_ >= json_.size()) {
    cut_off();
    return std::nullopt;
  }
  return key;
}

std::string_view JsonCursor::skip_value() {
  constexpr std::size_t kCut = std::string_view::npos;
  const std::size_t begin = position_;
  std::size_t end = 0;
  if (stands_on('{') || stands_on('[')) {
    const ScanResult scan = scan_brackets(json_, begin);
    if (scan.status == ScanStatus::kTooDeep) {
      throw too_deep();
    }
    end = scan.status == ScanStatus::kCutOff ? kCut : scan.end;
  } else if (stands_on('"')) {
    end = find_string_end(json_, begin + 1);
    end += end == kCut ? 0 : 1;
  } else {
    end = json_.find_first_of(",}] \t\r\n", begin);
  }
  if (end == kCut) {
    cut_off();
    return {};
  }
  position_ = end;
  return json_.substr(begin, end - begin);
}

void JsonCursor::refuse_rest() {
  position_ = skip_space(json_, position_);
  if (stands_on('{') || stands_on('[')) {
    fail("several files in one", "one",
         fmt::format("another from byte {} on: {}", position_, quote(rest())),
         "they were joined, as cat does: give each as a file of its own");
  }
  if (position_ < json_.size()) {
    fail("text after the end", "nothing after the last bracket", quote(rest()));
  }
}

void read_objects(std::string_view json, JsonCursor& cursor, Losses& losses,
                  const ObjectsKind& kind, const std::function<void(JsonPull&)>& read) {
  ObjectsReader(json, cursor, losses, kind, read).read_all();
}

}  // namespace understudy::et_schema
