#include "program_timings.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "et_schema/support/json_text.h"
#include "et_schema/support/quote.h"
#include "program_lines.h"

namespace understudy::et_schema {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

void append_field(std::string& out, std::string_view name, std::int64_t value) {
  out += ",\"";
  out += name;
  out += "\":";
  append_json_int(out, value);
}

/// [bytes, address, …]
void append_blocks(std::string& out, std::span<const HeapBlock> blocks) {
  for (const HeapBlock& block : blocks) {
    out += &block == blocks.data() ? ",\"blocks\":[" : ",";
    append_json_int(out, block.bytes);
    out += ',';
    append_json_uint(out, block.address);
  }
  out += blocks.empty() ? "" : "]";
}

std::vector<HeapBlock> read_blocks(const ProgramLines& lines, const element& value) {
  std::vector<HeapBlock> blocks;
  const simdjson::dom::array numbers = lines.to_array("blocks", value);
  for (auto number = numbers.begin(); number != numbers.end(); ++number) {
    HeapBlock& block = blocks.emplace_back(HeapBlock{lines.to_int("blocks", *number), 0});
    if (++number == numbers.end()) {
      lines.fail("blocks", "a list of [bytes, address, …]", value);
    }
    block.address = lines.to_uint("blocks", *number);
  }
  return blocks;
}

void set_blocks(Program& program, std::size_t index, std::vector<HeapBlock> blocks) {
  if (!blocks.empty()) {
    program.heap_blocks[index] = std::move(blocks);
  }
}

void append_timing(std::string& out, std::size_t index, const Timing& timing,
                   std::span<const HeapBlock> blocks) {
  out += "{\"i\":";
  append_json_uint(out, index);
  append_field(out, "start_ns", timing.start_ns);
  append_field(out, "host_ns", timing.host_ns);
  append_field(out, "gap_ns", timing.gap_ns);
  if (timing.launches != 0) {
    append_field(out, "device_ns", timing.device_ns);
    append_field(out, "launches", static_cast<std::int64_t>(timing.launches));
  }
  if (timing.stream) {
    append_field(out, "stream", *timing.stream);
  }
  append_blocks(out, blocks);
  if (timing.page_faults) {
    append_field(out, "page_faults", *timing.page_faults);
  }
  out += "}\n";
}

Timing read_timing(const ProgramLines& lines, object line) {
  Timing timing;
  timing.start_ns = lines.to_int("start_ns", lines.required(line, "start_ns"));
  timing.host_ns = lines.to_int("host_ns", lines.required(line, "host_ns"));
  timing.gap_ns = lines.to_int("gap_ns", lines.required(line, "gap_ns"));
  for (const auto [key, value] : line) {
    if (key == "device_ns") {
      timing.device_ns = lines.to_int(key, value);
    } else if (key == "launches") {
      timing.launches = lines.to_uint(key, value);
    } else if (key == "stream") {
      timing.stream = lines.to_int(key, value);
    } else if (key == "page_faults") {
      timing.page_faults = lines.to_int(key, value);
    }
  }
  return timing;
}

}  // namespace

std::string timings_to_text(const Program& program) {
  constexpr std::size_t kBytesPerLine = 64;
  const auto count = static_cast<std::size_t>(std::ranges::count_if(
      program.instructions,
      [](const Instruction& instruction) { return instruction.timing.has_value(); }));
  std::string out;
  out.reserve(kBytesPerLine * (count + 1));
  out += "{\"timings\":";
  append_json_uint(out, count);
  out += "}\n";
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (program.instructions[i].timing) {
      append_timing(out, i, *program.instructions[i].timing, heap_blocks_of(program, i));
    }
  }
  return out;
}

void apply_timings(std::string_view text, const std::string& file, Program& program) {
  ProgramLines lines(text, file);
  const std::uint64_t count = lines.count(lines.next("the header {\"timings\":…}"), "timings");
  const std::string expected = "one of " + std::to_string(count) + " timings";
  std::uint64_t next = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    const object line = lines.next(expected);
    const element number = lines.required(line, "i");
    const std::uint64_t index = lines.to_uint("i", number);
    if (index < next || index >= program.instructions.size()) {
      lines.fail(
          "i",
          "rising numbers of instructions, below " + std::to_string(program.instructions.size()),
          number);
    }
    program.instructions[index].timing = read_timing(lines, line);
    if (element blocks; line["blocks"].get(blocks) == simdjson::SUCCESS) {
      set_blocks(program, index, read_blocks(lines, blocks));
    }
    next = index + 1;
  }
  lines.expect_end("the end: the header announces " + std::to_string(count) + " timings");
}

}  // namespace understudy::et_schema
