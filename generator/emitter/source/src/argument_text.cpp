#include "argument_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <variant>

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

/// In the order of c10::Layout and c10::MemoryFormat.
constexpr std::array<std::string_view, 7> kLayoutNames = {
    "strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc"};
constexpr std::array<std::string_view, 4> kMemoryFormatNames = {
    "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};

class Writer {
 public:
  Writer(const DeviceText& devices, const Variables& variables)
      : devices_(devices), variables_(variables) {}

  std::string write(const Argument& argument, std::string type) {
    const bool optional = type.ends_with('?');
    if (optional) {
      type.pop_back();
    }
    if (const auto* slot = std::get_if<Argument::SlotRef>(&argument.value)) {
      return type == "Tensor" || type == "Scalar" ? variables_(slot->id) : (refuse(type), "");
    }
    if (is_nothing(argument) && (optional || type == "Generator")) {
      return "None";
    }
    if (type.ends_with(']')) {
      const std::size_t open = type.rfind('[');
      return write_list(argument, type.substr(0, open), type.substr(open + 1));
    }
    return write_plain(argument, type);
  }

 private:
  [[noreturn]] static void refuse(const std::string& type) {
    throw CannotShow{
        fmt::format("an argument of type {}, of which the trace tells too little", type)};
  }

  std::string write_plain(const Argument& argument, const std::string& type) {
    const std::optional<double> number = as_number(argument);
    if (type == "Tensor") {
      if (is_nothing(argument)) {
        return "None";
      }
      // PyTorch makes a tensor of a number that does not promote types.
      return number ? scalar(argument) : (refuse(type), "");
    }
    if (type == "str") {
      const auto* text = std::get_if<std::string>(&argument.value);
      return text == nullptr ? (refuse(type), "") : text_literal(*text);
    }
    if (type == "Device") {
      const auto* device = std::get_if<Argument::DeviceRef>(&argument.value);
      return device == nullptr ? (refuse(type), "") : devices_.of(device->device);
    }
    if (type == "Generator") {
      return "None";  // the device's default generator
    }
    return number ? write_number(argument, *number, type) : (refuse(type), "");
  }

  [[nodiscard]] static std::string write_number(const Argument& argument, double number,
                                                const std::string& type) {
    if (type == "float") {
      return real_text(number);
    }
    if (type == "bool") {
      return bool_text(number != 0);
    }
    if (type == "Scalar") {
      return scalar(argument);
    }
    constexpr double kBound = 9223372036854775808.0;  // 2^63
    const auto* recorded = std::get_if<std::int64_t>(&argument.value);
    if (recorded == nullptr && !(number >= -kBound && number < kBound)) {
      refuse(type);
    }
    const auto integer = recorded != nullptr ? *recorded : static_cast<std::int64_t>(number);
    if (type == "int" || type == "SymInt") {
      return fmt::format("{}", integer);
    }
    constexpr std::int64_t kMost = 127;
    if (type == "ScalarType" && integer >= 0 && integer <= kMost) {
      return dtype_text(static_cast<DType>(integer));
    }
    std::span<const std::string_view> enumerators;
    if (type == "Layout") {
      enumerators = kLayoutNames;
    } else if (type == "MemoryFormat") {
      enumerators = kMemoryFormatNames;
    }
    if (integer < 0 || static_cast<std::size_t>(integer) >= enumerators.size()) {
      refuse(type);
    }
    return fmt::format("torch.{}", enumerators[static_cast<std::size_t>(integer)]);
  }

  [[nodiscard]] static std::string scalar(const Argument& argument) {
    if (const auto* flag = std::get_if<bool>(&argument.value)) {
      return bool_text(*flag);
    }
    if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) {
      return fmt::format("{}", *integer);
    }
    return real_text(std::get<double>(argument.value));
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
      constexpr std::size_t kMost = 64;
      items.assign(count <= kMost ? count : (refuse(element + "[]"), 0), argument);
    } else {
      refuse(element + "[]");
    }
    std::vector<std::string> texts;
    texts.reserve(items.size());
    for (const Argument& item : items) {
      texts.push_back(write_item(item, element));
    }
    const std::string joined = fmt::format("{}", fmt::join(texts, ", "));
    // An optimizer passes the same number for each of its tensors.
    constexpr std::size_t kShortest = 4;
    const bool is_repeated =
        (element == "Scalar" || element == "float") && texts.size() >= kShortest &&
        std::ranges::all_of(texts, [&](const auto& text) { return text == texts[0]; });
    return is_repeated ? fmt::format("[{}] * {}", texts[0], texts.size()) : "[" + joined + "]";
  }

  std::string write_item(const Argument& item, const std::string& element) {
    if (element == "Tensor?" && is_nothing(item)) {
      return "None";
    }
    return write(item, element);
  }

  const DeviceText& devices_;
  const Variables& variables_;
};

}  // namespace

bool is_nothing(const Argument& argument) {
  return std::holds_alternative<Argument::None>(argument.value) ||
         std::holds_alternative<Argument::Undefined>(argument.value);
}

std::string DeviceText::of(et_schema::Device device) const {
  if (device.type == et_schema::DeviceType::kMeta) {
    return "\"meta\"";
  }
  return is_accelerator(device) || !has_accelerator ? "device" : "\"cpu\"";
}

std::string plain_type(std::string_view type) {
  std::string text;
  int depth = 0;
  for (const char c : type) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0 && c != '!') {  // the operator map's mark of written arguments
      text += c;
    }
    depth -= c == ')' ? 1 : 0;
  }
  return text;
}

std::string argument_text(const Argument& argument, std::string_view type,
                          const DeviceText& devices, const Variables& variables) {
  return Writer(devices, variables).write(argument, plain_type(type));
}

std::string dtype_text(DType dtype) {
  const std::string_view name = et_schema::to_string(dtype);
  if (name == et_schema::to_string(DType::kUndefined)) {
    throw CannotShow{"an element type that has no name here"};
  }
  return fmt::format("torch.{}", name);
}

std::string real_text(double value) {
  if (std::isfinite(value)) {
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  const std::string_view sign = value < 0 ? "-" : "";
  return std::isnan(value) ? "float(\"nan\")" : fmt::format("float(\"{}inf\")", sign);
}

std::string bool_text(bool value) {
  return value ? "True" : "False";
}

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

std::string list_text(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string bench_text(std::string_view name, const std::vector<std::string>& arguments) {
  return fmt::format("bench.{}({})", name, fmt::join(arguments, ", "));
}

}  // namespace understudy::emitter
