#include "et_schema/base/error.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "et_schema/base/control_characters.h"

namespace understudy::et_schema {
namespace {

constexpr std::size_t kValueColumn = 12;

/// Indents all lines of a value except the first one, so that none looks like a field.
std::string shown(std::string_view value) {
  std::string text;
  for (const char c : escape_control_characters(value, "\n\t")) {
    text += c;
    text += c == '\n' ? std::string(kValueColumn, ' ') : std::string();
  }
  return text;
}

std::string text_of(const std::string& summary, const ErrorContext& context) {
  std::string text = escape_control_characters(summary);
  const auto line = [&text](std::string_view label, std::string_view value) {
    if (!value.empty()) {
      fmt::format_to(std::back_inserter(text), "\n  {:<9} {}", fmt::format("{}:", label),
                     shown(value));
    }
  };
  line("file", context.file);
  line("rank", context.rank ? fmt::format("{}", *context.rank) : std::string());
  line("node", context.node ? fmt::format("{}", *context.node) : std::string());
  line("field", context.field);
  line("expected", context.expected);
  line("got", context.got);
  line("hint", context.hint);
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, std::string summary, ErrorContext context)
    : std::runtime_error(text_of(summary, context)),
      kind_(kind),
      summary_(std::move(summary)),
      context_(std::move(context)) {}

Error Error::with_file(const std::string& file) const {
  ErrorContext context = context_;
  if (context.file.empty()) {
    context.file = file;
  }
  return Error(kind_, summary_, std::move(context));
}

Error Error::with_rank(int rank) const {
  ErrorContext context = context_;
  if (!context.rank) {
    context.rank = rank;
  }
  return Error(kind_, summary_, std::move(context));
}

std::string to_text(const Error& error) {
  return text_of(error.summary(), error.context());
}

std::string to_json(const Error& error) {
  const ErrorContext& context = error.context();
  nlohmann::ordered_json fields;
  fields["summary"] = error.summary();
  fields["file"] = context.file;
  fields["rank"] = context.rank ? nlohmann::ordered_json(*context.rank) : nullptr;
  fields["node"] = context.node ? nlohmann::ordered_json(*context.node) : nullptr;
  fields["field"] = context.field;
  fields["expected"] = context.expected;
  fields["got"] = context.got;
  fields["hint"] = context.hint;
  nlohmann::ordered_json document;
  document["error"] = std::move(fields);
  // Names from a damaged file may not be UTF-8.
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace understudy::et_schema
