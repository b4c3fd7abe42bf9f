#include <algorithm>
#include <array>
#include <variant>

#include "et_schema/formats/bench/program_text.h"
#include "program_members.h"

namespace understudy::et_schema {

// Typical size of schema, storage and slot lines; instruction lines have twice as many bytes.
static constexpr std::size_t kBytesPerLine = 128;

// Appends a text whose first character denotes the type of the rest.
static void append_marked(LineText& text, char mark, std::string_view rest) {
  const std::size_t start = text.out.size();
  append_json_string(text.out, rest);
  text.out.insert(start + 1, 1, mark);
}

static void append_value(LineText& text, const Device& device) {
  if (text.detail != TextDetail::kBehaviour) {
    append_json_string(text.out, to_string(device));
    return;
  }
  const auto found = std::ranges::find(text.devices, device);
  text.out += '@';
  append_json_int(text.out, static_cast<int>(device.type));
  text.out += '#';
  append_json_int(text.out, found - text.devices.begin());
  if (found == text.devices.end()) {
    text.devices.push_back(device);
  }
}

static void append_value(LineText& text, const ValueRule::Segment& segment) {
  append_json_ints(text.out, std::array{segment.count, segment.sum});
}

static void append_value(LineText& text, const ReuseBin& bin) {
  std::vector<std::int64_t> numbers = {bin.low, bin.high};
  for (const Repeat& repeat : bin.repeats) {
    numbers.insert(numbers.end(), {repeat.times, repeat.numbers});
  }
  append_json_ints(text.out, numbers);
}

static void append_value(LineText& text, const Argument& argument);

namespace {

struct ArgumentWriter {
  LineText& text;

  void operator()(Argument::None) const { text.out += "null"; }
  void operator()(Argument::Undefined) const { text.out += "\"undefined\""; }
  void operator()(Argument::SlotRef slot) const {
    text.out += "\"%";
    append_json_uint(text.out, slot.id);
    text.out += '"';
  }
  void operator()(const std::string& value) const { append_marked(text, '\'', value); }
  void operator()(Argument::DeviceRef device) const {
    if (text.detail != TextDetail::kBehaviour) {
      append_marked(text, '@', to_string(device.device));
    } else {
      append_value(text, device.device);
    }
  }
  void operator()(const Argument::Opaque& opaque) const { append_marked(text, '#', opaque.tag); }
  /// Numbers and lists.
  void operator()(const auto& value) const { append_line_value(text, value); }
};

std::uint64_t count_lines(const std::vector<Instruction>& instructions) {
  std::uint64_t lines = instructions.size();
  for (const Instruction& instruction : instructions) {
    lines += count_lines(instruction.body);
  }
  return lines;
}

void append_record(LineText& text, std::string_view key, std::uint64_t number, const auto& record) {
  append_line(text, [&](LineWriter& line) {
    line(key, number);
    members(line, record);
  });
}

void append_instruction(LineText& text, std::size_t index, std::uint64_t depth,
                        const Instruction& instruction) {
  append_record(text, depth == 0 ? "i" : "body", depth == 0 ? index : depth, instruction);
  for (const Instruction& inner : instruction.body) {
    append_instruction(text, 0, depth + 1, inner);
  }
}

}  // namespace

static void append_value(LineText& text, const Argument& argument) {
  std::visit(ArgumentWriter{text}, argument.value);
}

bool contiguous_strides(const std::vector<std::int64_t>& sizes,
                        std::vector<std::int64_t>& strides) {
  strides.resize(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(sizes[i], 1), &step)) {
      return false;
    }
  }
  return true;
}

std::string program_to_text(const Program& program, TextDetail detail) {
  const std::uint64_t lines = count_lines(program.instructions);
  LineText text;
  text.detail = detail;
  text.out.reserve(kBytesPerLine * (program.schemas.size() + program.storages.size() +
                                    program.slots.size() + 2 * lines));
  append_line(text, [&](LineWriter& line) {
    line("schemas", program.schemas.size());
    line("storages", program.storages.size());
    line("slots", program.slots.size());
    line("instructions", lines);
  });
  for (std::size_t i = 0; i < program.schemas.size(); ++i) {
    append_line(text, [&](LineWriter& line) {
      line("schema", i);
      line("text", program.schemas[i]);
    });
  }
  for (std::size_t i = 0; i < program.storages.size(); ++i) {
    append_record(text, "storage", i, program.storages[i]);
  }
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    append_record(text, "slot", i, program.slots[i]);
  }
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    append_instruction(text, i, 0, program.instructions[i]);
  }
  return std::move(text.out);
}

}  // namespace understudy::et_schema
