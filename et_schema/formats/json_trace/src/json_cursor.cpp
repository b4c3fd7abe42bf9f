#include "et_schema/json_trace/json_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "et_schema/support/error.h"
#include "et_schema/support/json_depth.h"
#include "et_schema/support/json_scan.h"
#include "et_schema/support/quote.h"

namespace understudy::et_schema {
namespace {

[[noreturn]] void fail(std::string summary, std::string expected, std::string got) {
  throw bad_input(
      std::move(summary),
      {.field = "the top level", .expected = std::move(expected), .got = std::move(got)});
}

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
    losses_.add(Loss::kRepairedCommas, commas > expected ? commas - expected : 1);
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
  const std::size_t begin = position_;
  if (stands_on('{') || stands_on('[')) {
    const ScanResult scan = scan_brackets(json_, begin);
    if (scan.status == ScanStatus::kTooDeep) {
      fail_too_deep();
    }
    position_ = scan.end;
    if (scan.status == ScanStatus::kCutOff) {
      cut_off();
      return {};
    }
  } else if (stands_on('"')) {
    const std::size_t end = find_string_end(json_, begin + 1);
    if (end == std::string_view::npos) {
      cut_off();
      return {};
    }
    position_ = end + 1;
  } else {
    position_ = json_.find_first_of(",}] \t\r\n", begin);
    if (position_ == std::string_view::npos) {
      cut_off();
      return {};
    }
  }
  return json_.substr(begin, position_ - begin);
}

void JsonCursor::refuse_rest() {
  position_ = skip_space(json_, position_);
  if (position_ < json_.size()) {
    fail("text after the end", "nothing after the last \"}\"", quote(rest()));
  }
}

}  // namespace understudy::et_schema
