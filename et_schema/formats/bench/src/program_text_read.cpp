#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "et_schema/base/quote.h"
#include "et_schema/formats/bench/program_text.h"
#include "program_members.h"

namespace understudy::et_schema {
using simdjson::dom::element;
using simdjson::dom::object;

static void read_value(const ProgramLines& lines, const std::string& field, element value,
                       Device& device) {
  device = parse_device(lines.as<std::string_view>(field, value));
}

static void read_value(const ProgramLines& lines, const std::string& field, element value,
                       ValueRule::Segment& segment) {
  std::vector<std::int64_t> pair;
  read_line_value(lines, field, value, pair);
  if (pair.size() != 2) {
    lines.fail(field, "a list of [count, sum]", value);
  }
  segment = {pair[0], pair[1]};
}

static void read_value(const ProgramLines& lines, const std::string& field, element value,
                       ReuseBin& bin) {
  std::vector<std::int64_t> numbers;
  read_line_value(lines, field, value, numbers);
  if (numbers.size() < 4 || numbers.size() % 2 != 0) {
    lines.fail(field, "a list of [low, high, times, numbers, …]", value);
  }
  bin = {numbers[0], numbers[1], {}};
  for (std::size_t i = 2; i < numbers.size(); i += 2) {
    bin.repeats.push_back({numbers[i], numbers[i + 1]});
  }
}

namespace {

/// Reads the arguments of one field of an instruction: "args" or "results".
class ArgumentReader {
 public:
  ArgumentReader(const ProgramLines& lines, const std::string& field)
      : lines_(lines), field_(field) {}

  [[nodiscard]] Argument read(element value, int depth) const {
    using simdjson::dom::element_type;
    switch (value.type()) {
      case element_type::NULL_VALUE:
        return {Argument::None{}};
      case element_type::BOOL:
        return {lines_.as<bool>(field_, value)};
      case element_type::INT64:
        return {lines_.as<std::int64_t>(field_, value)};
      case element_type::DOUBLE:
        return {lines_.to_double(field_, value)};
      case element_type::ARRAY:
        return {read_list(value, depth + 1)};
      case element_type::STRING:
        return read_marked(value);
      default:
        lines_.fail(field_, "an argument", value);
    }
  }

 private:
  [[nodiscard]] std::vector<Argument> read_list(element value, int depth) const {
    if (depth > kMaxListDepth) {
      lines_.fail(field_, "lists nested at most " + std::to_string(kMaxListDepth) + " deep",
                  "a deeper one");
    }
    std::vector<Argument> arguments;
    const auto items = lines_.as<simdjson::dom::array>(field_, value);
    arguments.reserve(items.size());
    for (const element item : items) {
      arguments.push_back(read(item, depth));
    }
    return arguments;
  }

  [[nodiscard]] Argument read_marked(element value) const {
    const auto text = lines_.as<std::string_view>(field_, value);
    const char mark = text.empty() ? '\0' : text.front();
    const std::string_view rest = text.substr(std::min<std::size_t>(1, text.size()));
    if (mark == '%') {
      return {read_slot_ref(value, rest)};
    }
    if (mark == '\'') {
      return {std::string(rest)};
    }
    if (mark == '@') {
      return {Argument::DeviceRef{parse_device(rest)}};
    }
    if (mark == '#') {
      return {Argument::Opaque{std::string(rest)}};
    }
    if (text == "undefined") {
      return {Argument::Undefined{}};
    }
    if (const std::optional<double> special = special_double(text)) {
      return {*special};
    }
    lines_.fail(
        field_,
        "a slot \"%N\", a text \"'…\", a device \"@…\", an opaque \"#…\", \"undefined\", \"inf\", "
        "\"-inf\" or \"nan\"",
        value);
  }

  [[nodiscard]] Argument::SlotRef read_slot_ref(element value, std::string_view digits) const {
    SlotId id = 0;
    constexpr std::size_t kMostDigits = 10;
    const char* const digits_end = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), digits_end, id);
    if (digits.size() > kMostDigits || error != std::errc() || end != digits_end) {
      lines_.fail(field_, "a slot \"%N\"", value);
    }
    return {id};
  }

  const ProgramLines& lines_;
  const std::string& field_;
};

}  // namespace

static void read_value(const ProgramLines& lines, const std::string& field, element value,
                       Argument& argument) {
  argument = ArgumentReader(lines, field).read(value, 1);
}

void LineReader::strides(const std::vector<std::int64_t>& sizes,
                         std::vector<std::int64_t>& strides) {
  element recorded;
  if (object_["strides"].get(recorded) == simdjson::SUCCESS) {
    read_line_value(lines_, field_of("strides"), recorded, strides);
  } else if (!contiguous_strides(sizes, strides)) {
    lines_.fail("sizes", "fewer than 2^63 elements", lines_.required(object_, "sizes"));
  }
}

void LineReader::kind_and_name(InstructionKind& kind, std::string& name) {
  for (const auto [key, value] : object_) {
    if (const auto known = instruction_kind_from_string(key)) {
      kind = *known;
      name = lines_.to_name(key, value);
      return;
    }
  }
  lines_.fail("", "an instruction: {\"i\":…,\"op\":…}", quote(simdjson::minify(object_)));
}

namespace {

// Lower bound of a line's length. It bounds the memory reserved by the header's untrusted counts.
constexpr std::size_t kLeastBytesPerLine = 16;

class ProgramReader {
 public:
  ProgramReader(std::string_view text, const std::string& file) : lines_(text, file) {}

  Program read() {
    const object header = lines_.next("the header {\"schemas\":…}");
    const std::uint64_t schemas = lines_.count(header, "schemas");
    const std::uint64_t storages = lines_.count(header, "storages");
    const std::uint64_t slots = lines_.count(header, "slots");
    const std::uint64_t instructions = lines_.count(header, "instructions");
    read_lines("schema", schemas, program_.schemas, &ProgramReader::read_schema);
    read_lines("storage", storages, program_.storages, &ProgramReader::read_record<Storage>);
    read_lines("slot", slots, program_.slots, &ProgramReader::read_record<Slot>);
    const std::string expected = "one of " + std::to_string(instructions) + " instructions";
    for (std::uint64_t i = 0; i < instructions; ++i) {
      read_instruction(lines_.next(expected));
    }
    lines_.expect_end("the end: the header announces " + std::to_string(instructions) +
                      " instructions");
    return std::move(program_);
  }

 private:
  template <typename Item>
  void read_lines(std::string_view key, std::uint64_t number, std::vector<Item>& items,
                  Item (ProgramReader::*read_item)(object)) {
    items.reserve(std::min<std::uint64_t>(number, lines_.size_bytes() / kLeastBytesPerLine));
    for (std::uint64_t i = 0; i < number; ++i) {
      const std::string expected = "{\"" + std::string(key) + "\":" + std::to_string(i) + ",…}";
      const object line = lines_.next(expected);
      std::uint64_t index = 0;
      if (line[key].get(index) != simdjson::SUCCESS || index != i) {
        lines_.fail("", expected, quote(simdjson::minify(line)));
      }
      items.push_back((this->*read_item)(line));
    }
  }

  std::string read_schema(object line) {
    std::string text;
    LineReader(lines_, line, "")("text", text);
    return text;
  }
  template <typename Record>
  Record read_record(object line) {
    Record record;
    LineReader reader(lines_, line, "");
    members(reader, record);
    return record;
  }

  void read_instruction(object line) {
    std::uint64_t depth = 0;
    LineReader(lines_, line, "").if_any("body", depth);
    Instruction instruction = read_record<Instruction>(line);
    std::vector<Instruction>& level = body_at(depth);
    if (depth == 0 && lines_.as<std::uint64_t>("i", lines_.required(line, "i")) != level.size()) {
      lines_.fail("i", std::to_string(level.size()), lines_.required(line, "i"));
    }
    level.push_back(std::move(instruction));
  }

  std::vector<Instruction>& body_at(std::uint64_t depth) {
    if (depth > kMaxBodyDepth) {
      lines_.fail("body", "a depth of at most " + std::to_string(kMaxBodyDepth),
                  std::to_string(depth));
    }
    std::vector<Instruction>* level = &program_.instructions;
    for (std::uint64_t i = 0; i < depth; ++i) {
      if (level->empty()) {
        lines_.fail("body",
                    "a depth of at most " + std::to_string(i) + ", one below the line before",
                    std::to_string(depth));
      }
      level = &level->back().body;
    }
    return *level;
  }

  ProgramLines lines_;
  Program program_;
};

}  // namespace

Program program_from_text(std::string_view text, const std::string& file) {
  return ProgramReader(text, file).read();
}

}  // namespace understudy::et_schema
