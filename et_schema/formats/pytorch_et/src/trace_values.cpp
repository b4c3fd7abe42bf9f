#include "trace_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "et_schema/base/quote.h"

namespace understudy::et_schema {
namespace {

/// Length at which the observer truncates lists, without a mark.
constexpr std::size_t kObserverListLimit = 4097;
/// Removes and returns the next type of a list of types: up to a comma or closing bracket outside
/// of its own brackets ("Tensor(c10::complex<float>)", "Tensor(nullptr (uninitialized))").
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

/// Returns "Generator" for "<Generator>".
std::string_view without_angles(std::string_view tag) {
  if (tag.size() >= 2 && tag.front() == '<' && tag.back() == '>') {
    return tag.substr(1, tag.size() - 2);
  }
  return tag;
}

/// Returns the number of items of an array; 0 if it is missing.
std::size_t count_items(std::optional<JsonPull> list) {
  std::size_t count = 0;
  if (list && list->stands_on('[')) {
    for (bool first = true; list->next_item(first); ++count) {
      list->skip();
    }
  }
  return count;
}

/// Walks an array parallel to another one, possibly missing or shorter. Skips items not read.
class SideList {
 public:
  explicit SideList(JsonPull* list)
      : list_(list != nullptr && list->stands_on('[') ? list : nullptr),
        has_more_(list_ != nullptr) {}
  [[nodiscard]] bool is_array() const { return list_ != nullptr; }
  /// Returns the list, positioned on its next item; null after the end.
  [[nodiscard]] JsonPull* next() {
    has_more_ = has_more_ && list_->next_item(first_);
    return has_more_ ? list_ : nullptr;
  }
  /// Skips the remaining items.
  void finish() {
    while (next() != nullptr) {
      list_->skip();
    }
  }

 private:
  JsonPull* list_;
  bool first_ = true;
  bool has_more_;
};

}  // namespace

void ValueReader::fail(std::string summary, std::string_view field, std::string expected,
                       std::string got) const {
  throw bad_input(std::move(summary), {.field = fmt::format("{}.{}", side_, field),
                                       .expected = std::move(expected),
                                       .got = std::move(got)});
}

std::span<const Value> ValueReader::take_from(std::size_t base) {
  const std::span<Value> result = arena_.copy(std::span<const Value>(stack_).subspan(base));
  stack_.resize(base);
  return result;
}

std::span<const Value> ValueReader::read(const ValueArrays& arrays, std::string_view side) {
  side_ = side;
  told_strides_ = arrays.told_strides;
  stack_.clear();
  if (!arrays.values && !arrays.types && !arrays.shapes) {
    return {};
  }
  std::optional<JsonPull> values_at = arrays.values;
  std::optional<JsonPull> shapes_at = arrays.shapes;
  std::optional<JsonPull> types_at = arrays.types;
  std::optional<JsonPull> strides_at = arrays.strides;
  SideList values(values_at ? &*values_at : nullptr);
  SideList shapes(shapes_at ? &*shapes_at : nullptr);
  SideList types(types_at ? &*types_at : nullptr);
  SideList strides(strides_at ? &*strides_at : nullptr);
  if (!values.is_array() || !types.is_array() || !shapes.is_array()) {
    fail("a list of values is damaged",
         !values.is_array() ? "values"
         : types.is_array() ? "shapes"
                            : "types",
         "an array", "something else");
  }
  while (true) {
    JsonPull* value = values.next();
    JsonPull* shape = shapes.next();
    JsonPull* type_at = types.next();
    if ((value == nullptr) != (type_at == nullptr) || (value == nullptr) != (shape == nullptr)) {
      fail("values, shapes and types do not belong together", "values",
           "as many values as shapes and types",
           fmt::format("{} values, {} shapes, {} types", count_items(arrays.values),
                       count_items(arrays.shapes), count_items(arrays.types)));
    }
    if (value == nullptr) {
      break;
    }
    std::string_view type;
    if (!type_at->take(type, unescaped_type_)) {
      fail("a type is no text", "types", "a type such as \"Tensor(float)\"", describe(*type_at));
    }
    const std::string_view whole = type;
    // Strides may be missing: Triton nodes have none for their stream.
    const Value read = read_value(*value, type, {shape, strides.next()});
    stack_.push_back(read);
    if (!type.empty()) {
      fail("a type cannot be read", "types", "a type such as \"GenericList[Tensor(float),None]\"",
           quote(whole));
    }
  }
  return take_from(0);
}

Value ValueReader::read_value(JsonPull& value, std::string_view& type, const Beside& beside) {
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
  for (JsonPull* unused : {beside.shape, beside.stride}) {
    if (unused != nullptr) {
      unused->skip();
    }
  }
  return read_scalar(value, name);
}

Value ValueReader::read_items(ValueKind kind, JsonPull& value, std::string_view& type,
                              const Beside& beside) {
  const JsonPull whole = value;
  const std::optional<JsonPull> whole_shape =
      beside.shape != nullptr ? std::optional(*beside.shape) : std::nullopt;
  SideList values(&value);
  SideList shapes(beside.shape);
  SideList strides(beside.stride);
  if (!values.is_array()) {
    fail("a list is no array", "values", "an array, as its type says", describe(value));
  }
  const auto fail_shapes = [&] {
    fail("values and shapes do not belong together", "shapes",
         fmt::format("an array of {}, as many as the list has", count_items(whole)),
         whole_shape ? describe(*whole_shape) : "nothing");
  };
  if (!shapes.is_array()) {
    fail_shapes();
  }
  const std::size_t base = stack_.size();
  while (true) {
    JsonPull* item = values.next();
    JsonPull* shape = shapes.next();
    if ((item == nullptr) != (shape == nullptr)) {
      fail_shapes();
    }
    if (item == nullptr) {
      break;
    }
    const std::size_t done = stack_.size() - base;
    if (type.empty() || (done > 0 && !take_prefix(type, ","))) {
      fail("values and types do not belong together", "types",
           fmt::format("{} types in the list", count_items(whole)), fmt::format("{}", done));
    }
    const Value read = read_value(*item, type, {shape, strides.next()});
    stack_.push_back(read);
  }
  const std::size_t count = stack_.size() - base;
  if (beside.stride != nullptr) {
    if (strides.is_array()) {
      strides.finish();
    } else {
      beside.stride->skip();
    }
  }
  if (count == kObserverListLimit) {
    losses_.add(Loss::kTruncatedLists);
  }
  if (!take_prefix(type, "]")) {
    fail("values and types do not belong together", "types",
         fmt::format("{} types in the list, then \"]\"", count), quote(type));
  }
  return Value::of_items(kind, take_from(base));
}

std::span<const std::int64_t> ValueReader::read_integers(JsonPull& list, const char* field) {
  if (!list.stands_on('[')) {
    fail("a tensor's layout is no array", field, "an array of integers", describe(list));
  }
  integers_.clear();
  for (bool first = true; list.next_item(first);) {
    if (!list.take(integers_.emplace_back())) {
      fail("a tensor's layout is damaged", field, "an integer below 2^63", describe(list));
    }
  }
  return arena_.copy<std::int64_t>(integers_);
}

Value ValueReader::read_tensor(JsonPull& value, std::string_view cpp_name, const Beside& beside) {
  constexpr std::size_t kNumbers = 5;  // tensor id, storage id, offset, elements, bytes of one
  const JsonPull whole = value;
  const auto fail_length = [&] {
    fail("a tensor cannot be read", "values",
         "[tensor id, storage id, offset, elements, bytes of one, \"device\"]", describe(whole));
  };
  if (!value.stands_on('[')) {
    fail_length();
  }
  Tensor tensor;
  std::array<std::int64_t, kNumbers> numbers{};
  std::size_t index = 0;
  for (bool first = true; value.next_item(first); ++index) {
    if (index < kNumbers) {
      const JsonPull entry = value;
      if (!value.take(numbers[index]) || (index >= 2 && numbers[index] < 0)) {
        fail("a tensor cannot be read", "values",
             index < 2 ? "an id below 2^63" : "a number from 0 to 2^63 - 1", describe(entry));
      }
    } else if (std::string_view device; index > kNumbers) {
      fail_length();
    } else if (value.take(device, unescaped_value_)) {
      tensor.device = parse_device(device);
    } else {
      fail("a tensor's device is no text", "values", "a device such as \"cuda:0\"",
           describe(value));
    }
  }
  if (index < kNumbers) {
    fail_length();
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
  if (beside.shape != nullptr) {
    tensor.sizes = read_integers(*beside.shape, "shapes");
  }
  if (beside.stride != nullptr) {
    // Sparse and fake tensors have sizes but no strides.
    const std::span<const std::int64_t> strides = read_integers(*beside.stride, "strides");
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
    // A size of 0 counts as 1, so that it does not hide other sizes that overflow.
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

Value ValueReader::read_double(JsonPull& value) {
  double number = 0;
  if (value.take(number)) {
    return Value::of(number);
  }
  // Doubles that JSON cannot represent are quoted.
  std::string_view text;
  const JsonPull whole = value;
  if (value.take(text, unescaped_value_)) {
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
  fail("a Double cannot be read", "values", R"(a number, "inf", "-inf" or "nan")", describe(whole));
}

Value ValueReader::read_scalar(JsonPull& value, std::string_view type) {
  if (type == "Int") {
    std::int64_t number = 0;
    if (value.take(number)) {
      return Value::of(number);
    }
    fail("an Int cannot be read", "values", "an integer below 2^63", describe(value));
  }
  if (type == "None") {
    value.skip();
    return {};
  }
  if (type == "Bool") {
    bool flag = false;
    if (value.take(flag)) {
      return Value::of(flag);
    }
    fail("a Bool cannot be read", "values", "true or false", describe(value));
  }
  if (type == "Double") {
    return read_double(value);
  }
  std::string_view text;
  const bool is_text = value.take(text, unescaped_value_);
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
  if (!is_text) {
    value.skip();
  }
  losses_.add(Loss::kPlaceholderValues);
  return Value::of_text(ValueKind::kOpaque, arena_.copy(is_text ? without_angles(text) : type));
}

}  // namespace understudy::et_schema
