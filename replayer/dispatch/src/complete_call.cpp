#include "replayer/dispatch/complete_call.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>

#include <optional>
#include <sstream>
#include <utility>

#include "et_schema/facts/schema_text.h"

namespace understudy::replayer {
namespace {

using et_schema::Argument;

/// Returns a default value as a trace would record it; nothing for types that no default has.
std::optional<Argument> default_argument(const c10::IValue& value) {
  if (value.isNone()) {
    return Argument{Argument::None{}};
  }
  if (value.isBool()) {
    return Argument{value.toBool()};
  }
  if (value.isInt()) {
    return Argument{value.toInt()};
  }
  if (value.isDouble()) {
    return Argument{value.toDouble()};
  }
  if (value.isString()) {
    return Argument{value.toStringRef()};
  }
  if (value.isList()) {
    Argument::List items;
    for (const c10::IValue& item : value.toListRef()) {
      std::optional<Argument> element = default_argument(item);
      if (!element) {
        return std::nullopt;
      }
      items.emplace_back() = std::move(*element);
    }
    return Argument{std::move(items)};
  }
  return std::nullopt;
}

}  // namespace

std::string complete_call(std::string& schema, std::vector<Argument>& arguments) {
  if (schema.find('(') != std::string::npos) {
    return {};
  }
  const c10::OperatorName name(std::string(et_schema::without_overload(schema)),
                               std::string(et_schema::overload_of(schema)));
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle) {
    return "this LibTorch has no such operator";
  }
  const std::vector<c10::Argument>& all = handle->schema().arguments();
  for (std::size_t i = arguments.size(); i < all.size(); ++i) {
    const std::optional<c10::IValue> value = all[i].default_value();
    std::optional<Argument> argument = value ? default_argument(*value) : std::nullopt;
    if (!argument) {
      return fmt::format("argument {} has no default", all[i].name());
    }
    arguments.emplace_back() = std::move(*argument);
  }
  std::ostringstream text;
  text << handle->schema();
  schema = text.str();
  return {};
}

}  // namespace understudy::replayer
