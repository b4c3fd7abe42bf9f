#include "trace_values.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include "et_schema/support/json_element.h"
#include "et_schema/support/quote.h"

namespace understudy::et_schema {
namespace {

using simdjson::dom::element;

/// The observer cuts longer lists without a mark.
constexpr std::size_t kObserverListLimit = 4097;
/// simdjson's count of an array's elements stops here.
constexpr std::size_t kCountLimit = 0xFFFFFF;

/// Cuts the next type off a list of types: up to a comma or closing bracket that is not inside of
/// brackets of its own ("Tensor(c10::complex<float>)", "Tensor(nullptr (uninitialized))").
std::string_view take_type_name(std::string_view& type) {
  std::size_t depth = 0;
  std::size_t end = 0;
  for (; end < type.size(); ++end) {
    const char c = type[end];
    if (c == '(' || c == '<' || c == '[') {
      ++depth;
    } else if (c == ')' || c == '>' || c == ']') {
      if (depth == 0) {
        break;
      }
      --depth;
    } else if (c == ',' && depth == 0) {
      break;
    }
  }
  const std::string_view name = type.substr(0, end);
  type.remove_prefix(end);
  return name;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

/// "<Generator>" → "Generator".
std::string_view without_angles(std::string_view tag) {
  if (tag.size() >= 2 && tag.front() == '<' && tag.back() == '>') {
    return tag.substr(1, tag.size() - 2);
  }
  return tag;
}

/// Walks an array that may be absent, or shorter than the one it stands beside.
class SideList {
 public:
  SideList(bool present, element list) {
    simdjson::dom::array array;
    if (present && list.get_array().get(array) == simdjson::SUCCESS) {
      is_array_ = true;
      size_ = array.size();
      next_ = array.begin();
      end_ = array.end();
    }
  }
  [[nodiscard]] bool is_array() const { return is_array_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Sets `item` to the next element; false past the end.
  bool take(element& item) {
    if (!is_array_ || !(next_ != end_)) {
      return false;
    }
    item = *next_;
    ++next_;
    return true;
  }

 private:
  bool is_array_ = false;
  std::size_t size_ = 0;
  simdjson::dom::array::iterator next_;
  simdjson::dom::array::iterator end_;
};

}  // namespace

void ValueReader::fail(std::string summary, std::string_view field, std::string expected,
                       std::string got) const {
  throw bad_input(std::move(summary), {.field = fmt::format("{}.{}", side_, field),
                                       .expected = std::move(expected),
                                       .got = std::move(got)});
}

std::span<const Value> ValueReader::read(const ValueArrays& arrays, std::string_view side) {
  side_ = side;
  told_strides_ = arrays.told_strides;
  SideList values(arrays.has_values, arrays.values);
  SideList shapes(arrays.has_shapes, arrays.shapes);
  SideList types(arrays.has_types, arrays.types);
  SideList strides(arrays.has_strides, arrays.strides);
  if (!arrays.has_values && !arrays.has_types && !arrays.has_shapes) {
    return {};
  }
  if (!values.is_array() || !types.is_array() || !shapes.is_array()) {
    fail("a list of values is damaged",
         !values.is_array() ? "values"
         : types.is_array() ? "shapes"
                            : "types",
         "an array", "something else");
  }
  const std::size_t count = values.size();
  if (types.size() != count || shapes.size() != count || count >= kCountLimit) {
    fail("values, shapes and types do not belong together", "values",
         "as many values as shapes and types",
         fmt::format("{} values, {} shapes, {} types", count, shapes.size(), types.size()));
  }
  const std::span<Value> result = arena_.array<Value>(count);
  for (Value& target : result) {
    element value;
    element type_element;
    Beside beside;
    values.take(value);
    types.take(type_element);
    beside.has_shape = shapes.take(beside.shape);
    // Triton nodes have no stride entry for their stream.
    beside.has_stride = strides.take(beside.stride);
    std::string_view type;
    if (type_element.get_string().get(type) != simdjson::SUCCESS) {
      fail("a type is no text", "types", "a type such as \"Tensor(float)\"",
           describe(type_element));
    }
    const std::string_view whole = type;
    target = read_value(value, type, beside);
    if (!type.empty()) {
      fail("a type cannot be read", "types", "a type such as \"GenericList[Tensor(float),None]\"",
           quote(whole));
    }
  }
  return result;
}

Value ValueReader::read_value(element value, std::string_view& type, const Beside& beside) {
  if (take_prefix(type, "GenericList[")) {
    return read_items(ValueKind::kList, value, type, beside);
  }
  if (take_prefix(type, "Tuple[")) {
    return read_items(ValueKind::kTuple, value, type, beside);
  }
  std::string_view name = take_type_name(type);
  if (take_prefix(name, "Tensor(") && name.ends_with(')')) {
    name.remove_suffix(1);
    return read_tensor(value, name, beside);
  }
  return read_scalar(value, name);
}

Value ValueReader::read_items(ValueKind kind, element value, std::string_view& type,
                              const Beside& beside) {
  SideList values(true, value);
  SideList shapes(beside.has_shape, beside.shape);
  SideList strides(beside.has_stride, beside.stride);
  if (!values.is_array()) {
    fail("a list is no array", "values", "an array, as its type says", describe(value));
  }
  if (!shapes.is_array() || shapes.size() != values.size()) {
    fail("values and shapes do not belong together", "shapes",
         fmt::format("an array of {}, as many as the list has", values.size()),
         beside.has_shape ? describe(beside.shape) : "nothing");
  }
  const std::size_t count = values.size();
  if (count == kObserverListLimit) {
    losses_.add(Loss::kTruncatedLists);
  }
  // The type holds at least one character for each element, so this bounds the memory by the input.
  if (count > type.size()) {
    fail("values and types do not belong together", "types",
         fmt::format("{} types in the list", count), quote(type));
  }
  const std::span<Value> result = arena_.array<Value>(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && !take_prefix(type, ",")) {
      fail("values and types do not belong together", "types",
           fmt::format("{} types in the list", count), fmt::format("{}", i));
    }
    element item;
    Beside item_beside;
    values.take(item);
    item_beside.has_shape = shapes.take(item_beside.shape);
    item_beside.has_stride = strides.take(item_beside.stride);
    result[i] = read_value(item, type, item_beside);
  }
  if (!take_prefix(type, "]")) {
    fail("values and types do not belong together", "types",
         fmt::format("{} types in the list, then \"]\"", count), quote(type));
  }
  return Value::of_items(kind, result);
}

std::span<const std::int64_t> ValueReader::read_integers(element list, const char* field) {
  simdjson::dom::array array;
  if (list.get_array().get(array) != simdjson::SUCCESS) {
    fail("a tensor's layout is no array", field, "an array of integers", describe(list));
  }
  const std::size_t count = array.size();
  if (count >= kCountLimit) {
    fail("a tensor has too many dimensions", field, "a tensor's layout",
         fmt::format("{} entries", count));
  }
  const std::span<std::int64_t> result = arena_.array<std::int64_t>(count);
  std::size_t index = 0;
  for (const element item : array) {
    if (item.get_int64().get(result[index]) != simdjson::SUCCESS) {
      fail("a tensor's layout is damaged", field, "an integer below 2^63", describe(item));
    }
    ++index;
  }
  return result;
}

Value ValueReader::read_tensor(element value, std::string_view cpp_name, const Beside& beside) {
  constexpr std::size_t kNumbers = 5;  // tensor id, storage id, offset, elements, bytes of one
  simdjson::dom::array entries;
  if (value.get_array().get(entries) != simdjson::SUCCESS ||
      (entries.size() != kNumbers && entries.size() != kNumbers + 1)) {
    fail("a tensor cannot be read", "values",
         "[tensor id, storage id, offset, elements, bytes of one, \"device\"]", describe(value));
  }
  Tensor tensor;
  std::array<std::int64_t, kNumbers> numbers{};
  std::size_t index = 0;
  for (const element entry : entries) {
    if (index < kNumbers) {
      if (entry.get_int64().get(numbers[index]) != simdjson::SUCCESS ||
          (index >= 2 && numbers[index] < 0)) {
        fail("a tensor cannot be read", "values",
             index < 2 ? "an id below 2^63" : "a number from 0 to 2^63 - 1", describe(entry));
      }
    } else {
      std::string_view device;
      if (entry.get_string().get(device) != simdjson::SUCCESS) {
        fail("a tensor's device is no text", "values", "a device such as \"cuda:0\"",
             describe(entry));
      }
      tensor.device = parse_device(device);
    }
    ++index;
  }
  tensor.tensor_id = numbers[0];
  tensor.storage_id = numbers[1];
  tensor.storage_offset = numbers[2];
  tensor.numel = numbers[3];
  tensor.item_bytes = numbers[4];
  if (const std::optional<DType> dtype = dtype_from_cpp_name(cpp_name)) {
    tensor.dtype = *dtype;
  } else {
    losses_.add(Loss::kUnknownDtypes);
  }
  if (beside.has_shape) {
    tensor.sizes = read_integers(beside.shape, "shapes");
  }
  if (beside.has_stride) {
    // Sparse and fake tensors have sizes but no strides.
    const std::span<const std::int64_t> strides = read_integers(beside.stride, "strides");
    if (strides.size() == tensor.sizes.size()) {
      tensor.has_strides = !told_strides_;
      tensor.strides = strides;
    }
  }
  check_extent(tensor);
  return Value::of(arena_.make(tensor));
}

void ValueReader::check_extent(const Tensor& tensor) const {
  std::int64_t product = 1;
  for (const std::int64_t size : tensor.sizes) {
    if (size < 0) {
      fail("a tensor has a negative size", "shapes", "sizes of 0 or more", fmt::format("{}", size));
    }
    // A size of zero does not make room for others that no memory could have.
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product)) {
      fail("a tensor's sizes overflow", "shapes", "a product of the sizes below 2^63",
           fmt::format("[{}]", fmt::join(tensor.sizes, ", ")));
    }
  }
  std::int64_t elements = std::max(product, tensor.numel);
  bool overflows = false;
  for (std::size_t i = 0; i < tensor.strides.size(); ++i) {
    const std::int64_t stride = tensor.strides[i];
    if (stride < 0) {
      fail("a tensor has a negative stride", "strides", "strides of 0 or more",
           fmt::format("{}", stride));
    }
    std::int64_t extent = 0;
    overflows = overflows || __builtin_mul_overflow(tensor.sizes[i], stride, &extent) ||
                __builtin_add_overflow(elements, extent, &elements);
  }
  const std::int64_t bytes =
      std::max({tensor.item_bytes, item_size(tensor.dtype), std::int64_t{1}});
  std::int64_t end = 0;
  if (overflows || __builtin_add_overflow(elements, tensor.storage_offset, &end) ||
      __builtin_mul_overflow(end, bytes, &end)) {
    fail("a tensor's extent overflows", "values", "a last byte below 2^63",
         fmt::format("{} elements of {} bytes at offset {}", std::max(product, tensor.numel), bytes,
                     tensor.storage_offset));
  }
}

Value ValueReader::read_double(element value) {
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS) {
    return Value::of(number);
  }
  // What JSON has no number for stands in quotes.
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    if (text == "inf" || text == "Infinity") {
      return Value::of(std::numeric_limits<double>::infinity());
    }
    if (text == "-inf" || text == "-Infinity") {
      return Value::of(-std::numeric_limits<double>::infinity());
    }
    if (text == "nan" || text == "-nan" || text == "NaN") {
      return Value::of(std::numeric_limits<double>::quiet_NaN());
    }
  }
  fail("a Double cannot be read", "values", R"(a number, "inf", "-inf" or "nan")", describe(value));
}

Value ValueReader::read_scalar(element value, std::string_view type) {
  if (type == "Int") {
    std::int64_t number = 0;
    if (value.get_int64().get(number) == simdjson::SUCCESS) {
      return Value::of(number);
    }
    fail("an Int cannot be read", "values", "an integer below 2^63", describe(value));
  }
  if (type == "None") {
    return {};
  }
  if (type == "Bool") {
    bool flag = false;
    if (value.get_bool().get(flag) == simdjson::SUCCESS) {
      return Value::of(flag);
    }
    fail("a Bool cannot be read", "values", "true or false", describe(value));
  }
  if (type == "Double") {
    return read_double(value);
  }
  std::string_view text;
  const bool is_text = value.get_string().get(text) == simdjson::SUCCESS;
  if (type == "String" || type == "Device") {
    if (!is_text) {
      fail(fmt::format("a {} is no text", type), "values", "a text", describe(value));
    }
    return Value::of_text(type == "String" ? ValueKind::kString : ValueKind::kDevice,
                          arena_.copy(text));
  }
  if (type.empty()) {
    fail("a type is empty", "types", "a type such as \"Int\"", "\"\"");
  }
  losses_.add(Loss::kPlaceholderValues);
  return Value::of_text(ValueKind::kOpaque, arena_.copy(is_text ? without_angles(text) : type));
}

}  // namespace understudy::et_schema
