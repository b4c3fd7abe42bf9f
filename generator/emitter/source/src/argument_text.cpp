#include "argument_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "call_text.h"
#include "et_schema/model/program.h"
#include "foreign_text.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::DType;

std::optional<double> as_number(const Argument& argument) {
  if (const auto* flag = std::get_if<bool>(&argument.value)) {
    return *flag ? 1 : 0;
  }
  if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* real = std::get_if<double>(&argument.value)) {
    return *real;
  }
  return std::nullopt;
}

struct Enumerator {
  std::string_view cpp;
  std::string_view python;
};
/// In the order of c10::Layout and c10::MemoryFormat.
constexpr std::array<Enumerator, 7> kLayouts = {{{"kStrided", "strided"},
                                                 {"kSparse", "sparse_coo"},
                                                 {"kSparseCsr", "sparse_csr"},
                                                 {"kMkldnn", "_mkldnn"},
                                                 {"kSparseCsc", "sparse_csc"},
                                                 {"kSparseBsr", "sparse_bsr"},
                                                 {"kSparseBsc", "sparse_bsc"}}};
constexpr std::array<Enumerator, 4> kMemoryFormats = {
    {{"MemoryFormat::Contiguous", "contiguous_format"},
     {"MemoryFormat::Preserve", "preserve_format"},
     {"MemoryFormat::ChannelsLast", "channels_last"},
     {"MemoryFormat::ChannelsLast3d", "channels_last_3d"}}};

class Writer {
 public:
  Writer(const ArgumentStyle& style, const NextTensor& next) : style_(style), next_(next) {}

  std::string write(const Argument& argument, std::string type) {
    const bool optional = type.ends_with('?');
    if (optional) {
      type.pop_back();
    }
    if (std::holds_alternative<Argument::SlotRef>(argument.value)) {
      return next_();
    }
    if (is_nothing(argument) && (optional || type == "Generator")) {
      return nothing();
    }
    if (type.ends_with(']')) {
      const std::size_t open = type.rfind('[');
      return write_list(argument, type.substr(0, open), type.substr(open + 1));
    }
    return write_plain(argument, type);
  }

 private:
  [[nodiscard]] bool is_python() const { return style_.language == Language::kPython; }

  [[noreturn]] static void refuse(const std::string& type) {
    throw CannotShow{
        fmt::format("an argument of type {}, of which the trace tells too little", type)};
  }

  [[nodiscard]] std::string nothing() const { return is_python() ? "None" : "bench::none()"; }

  std::string write_plain(const Argument& argument, const std::string& type) {
    const std::optional<double> number = as_number(argument);
    if (type == "Tensor") {
      if (is_nothing(argument)) {
        return is_python() ? "None" : "at::Tensor()";
      }
      return number ? bench_text("number", {scalar(argument)}, style_.language)
                    : (refuse(type), "");
    }
    if (type == "str") {
      const auto* text = std::get_if<std::string>(&argument.value);
      return text == nullptr ? (refuse(type), "") : text_literal(*text);
    }
    if (type == "Device") {
      const auto* device = std::get_if<Argument::DeviceRef>(&argument.value);
      return device == nullptr ? (refuse(type), "") : device_text(*device);
    }
    if (type == "Generator") {
      return nothing();  // the device's default generator
    }
    if (!number) {
      refuse(type);
    }
    return write_number(argument, *number, type);
  }

  [[nodiscard]] std::string device_text(const Argument::DeviceRef& device) const {
    const std::string text = style_.devices.of(device.device);
    if (!is_python()) {
      return text;
    }
    return text == "at::kCPU" ? "\"cpu\"" : text == "at::kMeta" ? "\"meta\"" : "bench.device()";
  }

  [[nodiscard]] std::string write_number(const Argument& argument, double number,
                                         const std::string& type) const {
    if (type == "int" || type == "SymInt") {
      return integer_text(integer_of(argument, number, type));
    }
    if (type == "float") {
      return real_text(number, style_.language);
    }
    if (type == "bool") {
      return bool_text(number != 0, style_.language);
    }
    if (type == "Scalar") {
      return scalar(argument);
    }
    if (type == "ScalarType") {
      return dtype_text(static_cast<DType>(small_integer(number, type)), style_.language);
    }
    if (type == "Layout") {
      return enumerator(kLayouts, number, type);
    }
    if (type == "MemoryFormat") {
      return enumerator(kMemoryFormats, number, type);
    }
    refuse(type);
  }

  static std::int64_t integer_of(const Argument& argument, double number, const std::string& type) {
    const auto* integer = std::get_if<std::int64_t>(&argument.value);
    constexpr double kBound = 9223372036854775808.0;  // 2^63
    if (integer == nullptr && !(number >= -kBound && number < kBound)) {
      refuse(type);
    }
    return integer != nullptr ? *integer : static_cast<std::int64_t>(number);
  }

  /// Returns the index of one of LibTorch's enumerators.
  static std::size_t small_integer(double number, const std::string& type) {
    constexpr double kMost = 127;
    if (!(number >= 0 && number <= kMost)) {
      refuse(type);
    }
    return static_cast<std::size_t>(number);
  }

  /// The smallest 64-bit integer has no C++ literal.
  [[nodiscard]] std::string integer_text(std::int64_t value) const {
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    return value == kLeast && !is_python() ? "std::numeric_limits<std::int64_t>::min()"
                                           : fmt::format("{}", value);
  }

  /// Returns the enumerator at an index.
  [[nodiscard]] std::string enumerator(std::span<const Enumerator> all, double number,
                                       const std::string& type) const {
    const std::size_t value = small_integer(number, type);
    if (value >= all.size()) {
      refuse(type);
    }
    return is_python() ? fmt::format("torch.{}", all[value].python)
                       : fmt::format("at::{}", all[value].cpp);
  }

  [[nodiscard]] std::string scalar(const Argument& argument) const {
    if (const auto* flag = std::get_if<bool>(&argument.value)) {
      return bool_text(*flag, style_.language);
    }
    if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) {
      return integer_text(*integer);
    }
    return real_text(std::get<double>(argument.value), style_.language);
  }

  std::string write_list(const Argument& argument, const std::string& element,
                         std::string_view length) {
    Argument::List items;
    if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
      items = *list;
    } else if (as_number(argument)) {
      // A single number is repeated to the length that the schema requires.
      std::size_t count = 1;
      std::from_chars(length.data(), length.data() + length.size(), count);
      items.assign(count, argument);
    } else {
      refuse(element + "[]");
    }
    std::vector<std::string> texts;
    texts.reserve(items.size());
    for (const Argument& item : items) {
      texts.push_back(write_item(item, element));
    }
    const std::string joined = fmt::format("{}", fmt::join(texts, ", "));
    if (style_.vectors != nullptr && element == "Tensor" && style_.vectors->contains(joined)) {
      const std::string& vector = style_.vectors->at(joined);
      return is_python() ? vector : fmt::format("bench::List({})", vector);
    }
    // An optimizer passes the same number for each of its tensors.
    constexpr std::size_t kShortest = 4;
    const bool is_repeated =
        (element == "Scalar" || element == "float") && texts.size() >= kShortest &&
        std::ranges::all_of(texts, [&](const auto& text) { return text == texts[0]; });
    if (is_python()) {
      return is_repeated ? fmt::format("[{}] * {}", texts[0], texts.size()) : "[" + joined + "]";
    }
    const std::string_view type = list_type(element);
    return is_repeated
               ? fmt::format("bench::repeated<bench::{}>({}, {})", type, texts.size(), texts[0])
               : fmt::format("bench::{}({{{}}})", type, joined);
  }

  std::string write_item(const Argument& item, const std::string& element) {
    if (element == "Tensor?" && is_nothing(item)) {
      return is_python() ? "None" : "std::nullopt";
    }
    return write(item, element);
  }

  /// Returns a type of bench/operators.h.
  static std::string_view list_type(std::string_view element) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTypes = {
        {{"Tensor", "List"},
         {"Tensor?", "OptionalList"},
         {"int", "Ints"},
         {"SymInt", "Ints"},
         {"float", "Floats"},
         {"bool", "Bools"},
         {"Scalar", "Scalars"}}};
    const auto* const found =
        std::ranges::find(kTypes, element, &std::pair<std::string_view, std::string_view>::first);
    return found == kTypes.end() ? (refuse(std::string(element) + "[]"), "") : found->second;
  }

  const ArgumentStyle& style_;
  const NextTensor& next_;
};

}  // namespace

bool is_nothing(const Argument& argument) {
  return std::holds_alternative<Argument::None>(argument.value) ||
         std::holds_alternative<Argument::Undefined>(argument.value);
}

std::string DeviceText::of(et_schema::Device device) const {
  if (device.type == et_schema::DeviceType::kMeta) {
    return "at::kMeta";
  }
  return is_accelerator(device) || !has_accelerator ? "bench::device()" : "at::kCPU";
}

std::string argument_text(const Argument& argument, std::string_view type,
                          const ArgumentStyle& style, const NextTensor& next) {
  return Writer(style, next).write(argument, plain_type(type));
}

bool is_default(const Argument& argument, std::string_view default_value) {
  if (default_value.empty()) {
    return false;
  }
  if (is_nothing(argument)) {
    return default_value == "None";
  }
  if (const auto* flag = std::get_if<bool>(&argument.value)) {
    return default_value == (*flag ? "True" : "False");
  }
  if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) {
    return default_value == fmt::format("{}", *integer);
  }
  if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
    return list->empty() && default_value == "[]";
  }
  const auto* real = std::get_if<double>(&argument.value);
  double value = 0;
  const char* const end = default_value.data() + default_value.size();
  const auto [read, error] = std::from_chars(default_value.data(), end, value);
  return real != nullptr && error == std::errc() && read == end &&
         default_value.find_first_of(".e") != std::string_view::npos && value == *real;
}

std::string dtype_text(DType dtype, Language language) {
  static const std::map<DType, std::string_view> kCppNames = {
      {DType::kUInt8, "kByte"},
      {DType::kInt8, "kChar"},
      {DType::kInt16, "kShort"},
      {DType::kInt32, "kInt"},
      {DType::kInt64, "kLong"},
      {DType::kFloat16, "kHalf"},
      {DType::kFloat32, "kFloat"},
      {DType::kFloat64, "kDouble"},
      {DType::kComplexFloat16, "kComplexHalf"},
      {DType::kComplexFloat32, "kComplexFloat"},
      {DType::kComplexFloat64, "kComplexDouble"},
      {DType::kBool, "kBool"},
      {DType::kBFloat16, "kBFloat16"},
      {DType::kFloat8E5M2, "kFloat8_e5m2"},
      {DType::kFloat8E4M3Fn, "kFloat8_e4m3fn"},
      {DType::kUInt16, "kUInt16"},
      {DType::kUInt32, "kUInt32"},
      {DType::kUInt64, "kUInt64"},
      {DType::kQInt8, "kQInt8"},
      {DType::kQUInt8, "kQUInt8"},
      {DType::kQInt32, "kQInt32"}};
  const auto name = kCppNames.find(dtype);
  if (name == kCppNames.end()) {
    throw CannotShow{"an element type that has no name here"};
  }
  return language == Language::kPython ? fmt::format("torch.{}", et_schema::to_string(dtype))
                                       : fmt::format("at::{}", name->second);
}

std::string real_text(double value, Language language) {
  if (std::isfinite(value)) {
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  const std::string_view sign = value < 0 ? "-" : "";
  if (language == Language::kPython) {
    return std::isnan(value) ? "float(\"nan\")" : fmt::format("float(\"{}inf\")", sign);
  }
  return std::isnan(value) ? "std::numeric_limits<double>::quiet_NaN()"
                           : fmt::format("{}std::numeric_limits<double>::infinity()", sign);
}

std::string bool_text(bool value, Language language) {
  return language == Language::kPython ? (value ? "True" : "False") : (value ? "true" : "false");
}

std::string sizes_text(const std::vector<std::int64_t>& sizes, Language language) {
  return list_text({fmt::format("{}", fmt::join(sizes, ", "))}, language);
}

std::string list_text(const std::vector<std::string>& items, Language language) {
  return language == Language::kPython ? fmt::format("[{}]", fmt::join(items, ", "))
                                       : fmt::format("{{{}}}", fmt::join(items, ", "));
}

std::string bench_text(std::string_view name, const std::vector<std::string>& arguments,
                       Language language) {
  return fmt::format("bench{}{}({})", language == Language::kPython ? "." : "::", name,
                     fmt::join(arguments, ", "));
}

}  // namespace understudy::emitter
