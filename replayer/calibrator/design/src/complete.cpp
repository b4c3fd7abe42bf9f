// Calls of which not all is known, completed by the operators' schemas.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/slot_extent.h"
#include "replayer/calibrator/design/call.h"

namespace understudy::calibrator {
namespace {

using et_schema::Argument, et_schema::OperatorCall, et_schema::SchemaArgument;

constexpr const char* kNoOperator = "no release of LibTorch has such an operator";

std::string_view schema_of(std::string_view name) {
  for (const std::string_view line :
       et_schema::public_operators(et_schema::without_overload(name))) {
    if (line.size() > name.size() && et_schema::operator_name(line) == name) {
      return line;
    }
  }
  return {};
}

template <typename Number>
std::optional<Argument> number_in(std::string_view text) {
  Number number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size()
             ? std::optional(Argument{number})
             : std::nullopt;
}

/// Returns a default value as a trace would record it.
std::optional<Argument> value_of(std::string_view text) {
  if (text == "None") {
    return Argument{Argument::None{}};
  }
  if (text == "True" || text == "False") {
    return Argument{text == "True"};
  }
  if (text.starts_with('"')) {
    return Argument{std::string(text.substr(1, text.size() - 2))};
  }
  if (!text.starts_with('[')) {
    const std::optional<Argument> whole = number_in<std::int64_t>(text);
    return whole ? whole : number_in<double>(text);
  }
  Argument::List items;
  for (std::size_t at = 1; at + 1 < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size() - 1);
    if (std::optional<Argument> item = value_of(text.substr(at, end - at))) {
      items.push_back(*std::move(item));
    }
    at = text.find_first_not_of(' ', end + 1);
  }
  return Argument{std::move(items)};
}

Argument list_of(const std::vector<std::int64_t>& numbers) {
  Argument::List list;
  for (const std::int64_t number : numbers) {
    list.push_back({number});
  }
  return {std::move(list)};
}

/// Returns what a call without this argument most often has; times hardly depend on numbers.
std::optional<Argument> usual_argument(const SchemaArgument& asked, const OperatorCall& call) {
  const auto [base, is_list, is_optional, unused, lists] = et_schema::type_of(asked.type);
  const std::vector<std::int64_t> result =
      call.outputs.empty() ? std::vector<std::int64_t>{1} : call.outputs.front().sizes;
  if (is_list && base == "int") {
    return asked.name == "size" || asked.name == "shape" ? list_of(result)
           : asked.name == "normalized_shape"            ? list_of({result.back()})
                                                         : list_of({-1});
  }
  return is_optional        ? Argument{Argument::None{}}
         : base == "int"    ? Argument{std::int64_t{asked.name.starts_with("dim") ? -1 : 1}}
         : base == "float"  ? Argument{0.5}
         : base == "bool"   ? Argument{false}
         : base == "Scalar" ? Argument{3.0}
                            : std::optional<Argument>();
}

}  // namespace

std::string complete(Call& call) {
  if (call.schema.find('(') != std::string::npos) {
    return {};
  }
  const std::string_view schema = schema_of(call.schema);
  if (schema.empty()) {
    return kNoOperator;
  }
  const std::vector<SchemaArgument> all = et_schema::arguments_of(schema);
  for (std::size_t i = call.args.size(); i < all.size(); ++i) {
    std::optional<Argument> value = value_of(all[i].default_value);
    if (!value) {
      return fmt::format("argument {} has no default", all[i].name);
    }
    call.args.push_back(*std::move(value));
  }
  call.schema = schema;
  return {};
}

std::string make_call(const OperatorCall& asked, Call& call) {
  const std::string_view schema = schema_of(full_name(asked));
  if (schema.empty()) {
    return kNoOperator;
  }
  for (const et_schema::TensorLayout& layout : asked.inputs) {
    et_schema::Slot& slot = call.tensors.emplace_back().layout;
    slot.dtype = layout.dtype;
    slot.sizes = layout.sizes;
    slot.strides =
        layout.strides.empty() ? et_schema::contiguous_strides(layout.sizes) : layout.strides;
  }
  std::size_t next = 0;
  const auto take = [&] {
    return Argument{Argument::SlotRef{static_cast<et_schema::SlotId>(next++)}};
  };
  const std::vector<SchemaArgument> all = et_schema::arguments_of(schema);
  auto later = std::ranges::count_if(all, [](const SchemaArgument& one) {
    const et_schema::SchemaType type = et_schema::type_of(one.type);
    return type.base == "Tensor" && !type.is_list && !type.is_optional;
  });
  for (const SchemaArgument& one : all) {
    const et_schema::SchemaType type = et_schema::type_of(one.type);
    const auto left = static_cast<std::ptrdiff_t>(asked.inputs.size() - next);
    std::optional<Argument> argument;
    if (type.base != "Tensor") {
      argument = value_of(one.default_value);
      argument = argument ? argument : usual_argument(one, asked);
    } else if (type.is_list) {
      Argument::List list;
      for (std::ptrdiff_t i = later; i < left; ++i) {
        list.push_back(take());
      }
      argument = Argument{std::move(list)};
    } else if (type.is_optional) {
      argument = left > later ? take() : Argument{Argument::None{}};
    } else if (left > 0) {
      argument = take();
      --later;
    }
    if (!argument) {
      return fmt::format("its tensors do not tell argument {}", one.name);
    }
    call.args.push_back(*std::move(argument));
  }
  if (next < asked.inputs.size()) {
    return fmt::format("it takes {} tensors in place of {}", next, asked.inputs.size());
  }
  call.schema = schema;
  return {};
}

}  // namespace understudy::calibrator
