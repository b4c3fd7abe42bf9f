#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>

#include <optional>
#include <sstream>
#include <utility>

#include "bound_call.h"
#include "et_schema/model/schema_text.h"

namespace understudy::calibrator {
namespace {

using et_schema::Argument;

/// A default as a trace would have recorded it; none of what no default is.
std::optional<Argument> recorded(const c10::IValue& value) {
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
      std::optional<Argument> element = recorded(item);
      if (!element) {
        return std::nullopt;
      }
      items.emplace_back() = std::move(*element);
    }
    return Argument{std::move(items)};
  }
  return std::nullopt;
}

std::string text_of(const c10::FunctionSchema& schema) {
  std::ostringstream text;
  text << schema;
  return text.str();
}

}  // namespace

std::string complete(Call& call) {
  if (call.schema.find('(') != std::string::npos) {
    return {};
  }
  const c10::OperatorName name(std::string(et_schema::without_overload(call.schema)),
                               std::string(et_schema::overload_of(call.schema)));
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle) {
    return "this LibTorch has no such operator";
  }
  const std::vector<c10::Argument>& arguments = handle->schema().arguments();
  for (std::size_t i = call.args.size(); i < arguments.size(); ++i) {
    const std::optional<c10::IValue> value = arguments[i].default_value();
    std::optional<Argument> argument = value ? recorded(*value) : std::nullopt;
    if (!argument) {
      return fmt::format("argument {} has no default", arguments[i].name());
    }
    call.args.emplace_back() = std::move(*argument);
  }
  call.schema = text_of(handle->schema());
  return {};
}

}  // namespace understudy::calibrator
