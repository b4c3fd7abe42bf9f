#include "chakra_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>

#include "et_schema/base/json_text.h"
#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

/// Appends a text as Python's repr() would.
void append_text(std::string& out, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char mark = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += mark;
  for (const char c : text) {
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (c == mark || c == '\\') {
          out += '\\';
          out += c;
        } else if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7f) {
          fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
        } else {
          out += c;
        }
    }
  }
  out += mark;
}

/// Appends integers separated by ", ". Avoids format strings for speed: every tensor has three
/// lists.
void append_integers(std::string& out, std::span<const std::int64_t> integers) {
  for (std::size_t i = 0; i < integers.size(); ++i) {
    out += i == 0 ? "" : ", ";
    et_schema::append_json_int(out, integers[i]);
  }
}

void append_list(std::string& out, std::span<const std::int64_t> integers) {
  out += '[';
  append_integers(out, integers);
  out += ']';
}

/// Returns true if a reader can parse the tag as a type, up to the next comma or bracket.
bool is_type_name(std::string_view tag) {
  return !tag.empty() && tag.find_first_of(",()[]<> '\"\\") == std::string_view::npos;
}

class Writer {
 public:
  explicit Writer(const Program& program) : program_(program) {}

  ValueTexts write(const std::vector<Argument>& arguments) {
    et_schema::for_each_slot(arguments, [this](et_schema::SlotId id) {
      out_.has_strides |= program_.slots[id].strides_recorded;
      out_.are_told |= !program_.slots[id].sparse && !program_.slots[id].sizes.empty();
    });
    // A trace records all strides or none. If any is recorded, the others are left out.
    out_.are_told &= !out_.has_strides;
    out_.has_strides |= out_.are_told;
    append_to_all("[");
    out_.types += '[';
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      append_to_all(i == 0 ? "" : ", ");
      out_.types += i == 0 ? "'" : ", '";
      append(arguments[i]);
      out_.types += '\'';
    }
    append_to_all("]");
    out_.types += ']';
    return std::move(out_);
  }

 private:
  /// Appends to all texts except the types.
  void append_to_all(std::string_view text) {
    out_.values += text;
    out_.shapes += text;
    out_.strides += text;
  }

  void append(const Argument& argument) {
    std::visit([this](const auto& value) { append_value(value); }, argument.value);
  }

  /// Appends a value that has neither shape nor strides.
  void append_plain(std::string_view value, std::string_view type) {
    out_.values += value;
    out_.types += type;
    out_.shapes += "[]";
    out_.strides += "[]";
  }

  void append_value(Argument::None) { append_plain("'<None>'", "None"); }
  void append_value(Argument::Undefined) {
    append_plain("[0, 0, 0, 0, 0, '']", "Tensor(nullptr (uninitialized))");
  }
  void append_value(bool value) { append_plain(value ? "True" : "False", "Bool"); }
  void append_value(std::int64_t value) { append_plain(std::to_string(value), "Int"); }

  void append_value(double value) {
    std::string text;
    if (std::isfinite(value)) {
      et_schema::append_json_double(text, value);
    } else {
      text = std::isnan(value) ? "'nan'" : value > 0 ? "'inf'" : "'-inf'";
    }
    append_plain(text, "Double");
  }

  void append_value(const std::string& value) {
    append_text(out_.values, value);
    append_plain("", "String");
  }

  void append_value(const Argument::DeviceRef& value) {
    append_text(out_.values, to_string(value.device));
    append_plain("", "Device");
  }

  void append_value(const Argument::Opaque& value) {
    append_text(out_.values, "<" + value.tag + ">");
    append_plain("", is_type_name(value.tag) ? value.tag : "Object");
  }

  void append_value(const Argument::List& list) {
    append_to_all("[");
    out_.types += "GenericList[";
    for (std::size_t i = 0; i < list.size(); ++i) {
      append_to_all(i == 0 ? "" : ", ");
      out_.types += i == 0 ? "" : ",";
      append(list[i]);
    }
    append_to_all("]");
    out_.types += ']';
  }

  /// Uses the numbers of slot and storage as ids: a storage has one lifetime, so an id is
  /// unambiguous. 0 means no storage.
  void append_value(const Argument::SlotRef& value) {
    const Slot& slot = program_.slots[value.id];
    const std::int64_t numel = slot.sparse ? 0 : element_count(slot);
    const std::array<std::int64_t, 5> numbers = {
        std::int64_t{value.id} + 1, slot.sparse ? 0 : std::int64_t{slot.storage} + 1, slot.offset,
        numel, et_schema::item_size(slot.dtype)};
    out_.values += '[';
    append_integers(out_.values, numbers);
    out_.values += ", '";
    out_.values += to_string(program_.storages[slot.storage].device);
    out_.values += "']";
    out_.types += "Tensor(";
    out_.types +=
        slot.dtype == et_schema::DType::kUndefined ? "unknown" : et_schema::cpp_name(slot.dtype);
    out_.types += ')';
    append_list(out_.shapes, slot.sizes);
    if (slot.strides_recorded || (out_.are_told && !slot.sparse)) {
      append_list(out_.strides, slot.strides);
    } else {
      out_.strides += "[]";
    }
  }

  const Program& program_;
  ValueTexts out_;
};

std::optional<std::int64_t> number_in(const et_schema::Slot& slot) {
  const bool is_single =
      std::ranges::all_of(slot.sizes, [](std::int64_t size) { return size == 1; });
  if (!slot.external || !slot.value || !is_single || !et_schema::is_integral(slot.dtype)) {
    return std::nullopt;
  }
  if (const auto* constant = slot.value->as<et_schema::ValueRule::Constant>()) {
    return static_cast<std::int64_t>(constant->value);
  }
  const std::optional<et_schema::IntegerRange> range = et_schema::range_of(*slot.value);
  return range && range->high == range->low + 1 ? std::optional(range->low) : std::nullopt;
}

/// `place` is the position of the next tensor, counting undefined ones.
void add_known_numbers(const std::vector<et_schema::Argument>& arguments,
                       const et_schema::Program& program, std::size_t& place, std::string& text) {
  for (const et_schema::Argument& argument : arguments) {
    if (const auto* list = std::get_if<et_schema::Argument::List>(&argument.value)) {
      add_known_numbers(*list, program, place, text);
    } else if (std::holds_alternative<et_schema::Argument::Undefined>(argument.value)) {
      ++place;
    } else if (const auto* slot = std::get_if<et_schema::Argument::SlotRef>(&argument.value)) {
      if (const auto number = number_in(program.slots[slot->id])) {
        text += fmt::format(R"({}"{}":[{},{}])", text.empty() ? "" : ",", place, *number, *number);
      }
      ++place;
    }
  }
}

}  // namespace

ValueTexts texts_of(const std::vector<Argument>& arguments, const Program& program) {
  return Writer(program).write(arguments);
}

std::string known_numbers(const et_schema::Instruction& instruction,
                          const et_schema::Program& program) {
  std::string text;
  std::size_t place = 0;
  add_known_numbers(instruction.args, program, place, text);
  return text.empty() ? text : "{" + text + "}";
}

bool is_known_number(const et_schema::Slot& slot) {
  return number_in(slot).has_value();
}

std::int64_t bytes_of(const Slot& slot) {
  return slot.sparse ? 0 : element_count(slot) * et_schema::item_size(slot.dtype);
}

}  // namespace understudy::generator
