#include "recorded_call.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "et_schema/facts/operator_map.h"
#include "et_schema/facts/public_operators.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

using et_schema::KinetoArgument;
using et_schema::KinetoLayout;
using et_schema::SchemaArgument;
using et_schema::SchemaType;

/// How record_shapes records an argument.
enum class ToldAs : std::uint8_t { kNothing, kTensor, kTensors, kNumber, kNumbers, kText };

ToldAs told_by(const KinetoArgument& argument) {
  if (et_schema::dtype_from_cpp_name(argument.type)) {
    return ToldAs::kTensor;
  }
  if (argument.type == "TensorList") {
    return argument.layouts.empty() && argument.value.empty() ? ToldAs::kNothing : ToldAs::kTensors;
  }
  if (argument.type == "ScalarList" || argument.type == "GenericList") {
    return argument.value.starts_with('[') ? ToldAs::kNumbers
           : argument.layouts.size() > 1   ? ToldAs::kTensors
                                           : ToldAs::kNothing;
  }
  if (argument.value.empty()) {
    return ToldAs::kNothing;
  }
  const char first = argument.value.front();
  const bool is_number = (first >= '0' && first <= '9') || first == '-' || first == '.' ||
                         argument.value == "True" || argument.value == "False" ||
                         argument.value == "inf" || argument.value == "nan";
  return argument.value.starts_with('[') ? ToldAs::kNumbers
         : is_number                     ? ToldAs::kNumber
                                         : ToldAs::kText;
}

bool is_enumeration(std::string_view base) {
  return base == "ScalarType" || base == "Layout" || base == "MemoryFormat";
}

/// Returns true for texts and objects, which profiles omit.
bool is_untold(std::string_view base) {
  return base == "str" || base == "Device" || base == "Generator" || base == "Stream" ||
         base == "Dimname" || base == "Storage" || base.starts_with("__torch__");
}

bool is_whole_number(std::string_view text) {
  return text.find_first_not_of("-0123456789") == std::string_view::npos;
}

/// PyTorch before 2.0 records that there is a number or a list of numbers, but not its value.
bool is_number_untold(const KinetoArgument& argument) {
  return argument.value.empty() && (argument.type == "Scalar" || argument.type == "ScalarList");
}

/// Returns how well the argument matches: 0 not at all, 1 possibly, 2 certainly.
int fit(const SchemaArgument& schema, const KinetoArgument& argument, const LeftOut& left_out,
        bool after_tensor) {
  const SchemaType parameter = et_schema::type_of(schema.type);
  const std::string_view base = parameter.base;
  const bool is_bool = argument.value == "True" || argument.value == "False";
  switch (told_by(argument)) {
    case ToldAs::kNothing:
      if (is_number_untold(argument)) {
        const bool has_default = !schema.default_value.empty() && schema.default_value != "None";
        return has_default && !parameter.is_list && base != "Tensor" ? 1 : 0;
      }
      // The argument is a list that fill_lists() did not find, a nested tensor, or an undefined
      // tensor. Derivatives receive undefined tensors, after others, for absent arguments.
      return parameter.is_optional                              ? 2
             : parameter.has_optional_items && left_out.indices ? 2
             : parameter.has_lists                              ? 1
             : base == "Tensor" && !parameter.is_list           ? (after_tensor ? 1 : 0)
             : base == "Tensor"                                 ? 0
             : is_untold(base)                                  ? 1
                                                                : schema.default_value == "[]";
    case ToldAs::kTensor:
      return base == "Tensor" && !parameter.is_list ? 2 : 0;
    case ToldAs::kTensors:
      return base == "Tensor" && parameter.is_list ? 2 : 0;
    case ToldAs::kNumber:
      if (parameter.is_list || base == "Tensor") {
        return 0;
      }
      if (is_bool) {
        return base == "bool" ? 2 : base == "Scalar" ? 1 : 0;
      }
      if (base == "int" || is_enumeration(base)) {
        return is_whole_number(argument.value) ? 2 : 0;
      }
      return base == "float" || base == "Scalar" ? 2 : 0;
    case ToldAs::kNumbers:
      if (parameter.has_lists && argument.value == "[]") {
        return 1;
      }
      return parameter.is_list && base != "Tensor" && !is_untold(base) ? 2 : 0;
    case ToldAs::kText:
      return is_untold(base) && !parameter.is_list ? 2 : 0;
  }
  return 0;
}

/// Returns the sum of fits; empty if an argument does not match.
std::optional<int> fit(std::span<const SchemaArgument> parameters,
                       std::span<const KinetoArgument> arguments, const LeftOut& left_out) {
  int sum = 0;
  bool after_tensor = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const int one = fit(parameters[i], arguments[i], left_out, after_tensor);
    after_tensor = after_tensor || told_by(arguments[i]) == ToldAs::kTensor;
    if (one == 0) {
      return {};
    }
    sum += one;
  }
  return sum;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \"'");
  const std::size_t end = text.find_last_not_of(" \"'");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin, end - begin + 1);
}

/// Returns a number of the parameter's type; empty if the text is not a number.
std::optional<Value> number_of(std::string_view base, std::string_view text) {
  text = trimmed(text);
  if (text == "True" || text == "False") {
    return Value::of(text == "True");
  }
  const char* const end = text.data() + text.size();
  if (base != "float" && is_whole_number(text)) {
    std::int64_t integer = 0;
    const auto read = std::from_chars(text.data(), end, integer);
    return read.ec == std::errc() && read.ptr == end ? std::optional(Value::of(integer))
                                                     : std::nullopt;
  }
  double real = 0;
  const auto read = std::from_chars(text.data(), end, real);
  return read.ec == std::errc() && read.ptr == end ? std::optional(Value::of(real)) : std::nullopt;
}

/// Returns the numbers in "[1, 2]".
std::optional<Value> numbers_of(std::string_view base, std::string_view text,
                                et_schema::Arena& arena) {
  text.remove_prefix(1);
  if (text.ends_with(']')) {
    text.remove_suffix(1);
  }
  std::vector<Value> numbers;
  while (!trimmed(text).empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::optional<Value> number = number_of(base, text.substr(0, comma));
    if (!number) {
      return {};
    }
    numbers.push_back(*number);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return Value::of_items(ValueKind::kList, arena.copy<Value>(numbers));
}

/// Returns true if a tensor has a negative size or stride, or its number of elements overflows.
bool is_damaged(const KinetoArgument& argument) {
  return std::ranges::any_of(argument.layouts, [](const KinetoLayout& layout) {
    std::int64_t elements = 1;
    return std::ranges::any_of(layout.sizes,
                               [&elements](std::int64_t size) {
                                 return size < 0 ||
                                        __builtin_mul_overflow(elements, size, &elements);
                               }) ||
           std::ranges::any_of(layout.strides, [](std::int64_t stride) { return stride < 0; });
  });
}

/// Reads the arguments of one call.
class Arguments {
 public:
  Arguments(CallReader& reader, const et_schema::KinetoEvent& event, const LeftOut& left_out,
            RecordedCall& call)
      : reader_(reader),
        event_(event),
        left_out_(left_out),
        has_text_(left_out.has_text),
        call_(call) {}

  /// Reads an argument. Empty if a number cannot be parsed, or a required text is not recorded.
  std::optional<Value> read(const KinetoArgument& argument, const SchemaArgument* parameter) {
    const std::string_view base =
        parameter == nullptr ? "Scalar" : et_schema::type_of(parameter->type).base;
    switch (told_by(argument)) {
      case ToldAs::kTensor:
        return Value::of(
            tensor(argument, argument.layouts.empty() ? KinetoLayout{} : argument.layouts.front()));
      case ToldAs::kTensors:
        return tensors(argument);
      case ToldAs::kNumber:
        return number_of(base, argument.value);
      case ToldAs::kNumbers:
        return base == "Tensor" ? Value::of_items(ValueKind::kList, {})
                                : numbers_of(base, argument.value, reader_.arena);
      case ToldAs::kText:
        return Value::of_text(base == "Device" ? ValueKind::kDevice : ValueKind::kString,
                              reader_.arena.copy(trimmed(argument.value)));
      case ToldAs::kNothing:
        break;
    }
    if (parameter == nullptr) {
      return Value();
    }
    if (is_number_untold(argument) && base != "Tensor") {
      reader_.losses.add(Loss::kAssumedArguments);
      return number_of(base, parameter->default_value);
    }
    return untold(*parameter);
  }

 private:
  std::optional<Value> untold(const SchemaArgument& parameter) {
    const SchemaType type = et_schema::type_of(parameter.type);
    if (type.has_optional_items && left_out_.indices) {
      return indices(*left_out_.indices);
    }
    if (type.has_lists) {
      return lists();
    }
    if (type.is_list && !type.is_optional) {
      reader_.losses.add(Loss::kAssumedArguments);
      return Value::of_items(ValueKind::kList, {});
    }
    if (type.base != "str") {
      return Value();
    }
    if (std::exchange(has_text_, false)) {
      reader_.losses.add(Loss::kAssumedArguments, left_out_.is_assumed ? 1 : 0);
      return left_out_.text.empty()
                 ? Value()
                 : Value::of_text(ValueKind::kString, reader_.arena.copy(left_out_.text));
    }
    const std::string_view text = trimmed(parameter.default_value);
    if (text.empty() && !type.is_optional) {
      return {};
    }
    reader_.losses.add(Loss::kAssumedArguments);
    return text.empty() || text == "None"
               ? Value()
               : Value::of_text(ValueKind::kString, reader_.arena.copy(text));
  }

  Value indices(const ToldIndices& told) {
    reader_.losses.add(Loss::kAssumedArguments, told.is_assumed ? 1 : 0);
    const std::span<Value> items =
        reader_.arena.array<Value>(*std::ranges::max_element(told.positions) + 1);
    const KinetoArgument index{told.type, {}, {}};
    for (std::size_t i = 0; i < told.positions.size(); ++i) {
      items[told.positions[i]] = Value::of(tensor(index, told.layouts[i]));
    }
    return Value::of_items(ValueKind::kList, items);
  }

  /// Returns the lists of tensors that are gathered from, or scattered to, all ranks.
  Value lists() {
    reader_.losses.add(Loss::kAssumedArguments);
    const auto other = std::ranges::find_if(event_.arguments, [](const KinetoArgument& argument) {
      return argument.type == "TensorList" && !argument.layouts.empty();
    });
    if (other == event_.arguments.end()) {
      return Value::of_items(ValueKind::kList, {});
    }
    const std::span<Value> items =
        reader_.arena.array<Value>(static_cast<std::size_t>(reader_.world_size));
    for (Value& item : items) {
      item = Value::of(tensor(*other, other->layouts.front()));
    }
    const std::span<Value> list = reader_.arena.array<Value>(1);
    list.front() = Value::of_items(ValueKind::kList, items);
    return Value::of_items(ValueKind::kList, list);
  }

  Value tensors(const KinetoArgument& argument) {
    const std::span<Value> items = reader_.arena.array<Value>(argument.layouts.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i] = Value::of(tensor(argument, argument.layouts[i]));
    }
    return Value::of_items(ValueKind::kList, items);
  }

  Tensor* tensor(const KinetoArgument& argument, const KinetoLayout& layout) {
    Tensor* tensor = reader_.arena.make(Tensor{});
    tensor->dtype = et_schema::dtype_from_cpp_name(argument.type).value_or(kAssumedListType);
    tensor->item_bytes = et_schema::item_size(tensor->dtype);
    tensor->device.type = reader_.device;
    tensor->sizes = reader_.arena.copy(layout.sizes);
    tensor->numel = 1;
    for (const std::int64_t size : layout.sizes) {
      const bool is_too_large =
          size < 0 || __builtin_mul_overflow(tensor->numel, size, &tensor->numel);
      tensor->numel = is_too_large ? 0 : tensor->numel;
    }
    const bool is_told = layout.strides.size() == layout.sizes.size();
    tensor->has_strides = is_told || (reader_.tells_strides && layout.strides.empty());
    if (is_told) {
      tensor->strides = reader_.arena.copy(layout.strides);
    }
    reader_.losses.add(Loss::kAssumedLayouts, tensor->has_strides ? 0 : 1);
    call_.tensors.push_back(tensor);
    return tensor;
  }

  CallReader& reader_;
  const et_schema::KinetoEvent& event_;
  const LeftOut& left_out_;
  bool has_text_;
  RecordedCall& call_;
};

/// Returns schemas of PyTorch and its sibling libraries, or else those of the operator map.
std::vector<std::string_view> schemas_of(std::string_view op) {
  const std::span<const std::string_view> known = et_schema::public_operators(op);
  return known.empty() ? et_schema::operator_map().schemas_of(op)
                       : std::vector<std::string_view>(known.begin(), known.end());
}

}  // namespace

RecordedCall CallReader::read(const et_schema::KinetoEvent& event, const LeftOut& left_out) {
  RecordedCall call;
  if (std::ranges::any_of(event.arguments, is_damaged)) {
    return call;
  }
  int best = -1;
  for (const std::string_view schema : schemas_of(event.name)) {
    std::vector<SchemaArgument> parameters = et_schema::arguments_of(schema);
    if (parameters.empty() || parameters.size() != event.arguments.size()) {
      continue;
    }
    const std::optional<int> sum = fit(parameters, event.arguments, left_out);
    if (sum && *sum > best) {
      best = *sum;
      call.schema = schema;
      call.arguments = std::move(parameters);
    }
  }
  Arguments arguments(*this, event, left_out, call);
  call.inputs = arena.array<Value>(event.arguments.size());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const SchemaArgument* parameter = call.schema.empty() ? nullptr : &call.arguments[i];
    const std::optional<Value> value = arguments.read(event.arguments[i], parameter);
    call.inputs[i] = value.value_or(Value());
    if (!value) {
      call.schema = {};
    }
  }
  return call;
}

}  // namespace understudy::generator
