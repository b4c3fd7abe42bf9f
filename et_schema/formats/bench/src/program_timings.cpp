#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "et_schema/formats/bench/program_text.h"
#include "et_schema/formats/bench/records.h"
#include "line_record.h"

namespace understudy::et_schema {

/// {"of":12,"launch_ns":…,"start_ns":…,"device_ns":…}, or "why" in place of "of".
void members(auto& line, SameAs<DeviceWork> auto& work) {
  line.if_any("of", work.instruction);
  if (!work.instruction) {
    line("why", work.why, Names{outside_named, "a reason of docs/formats.md"});
  }
  line.if_any("thread", work.thread);
  line("launch_ns", work.launch_ns);
  line.if_any("lag_ns", work.lag_ns);
  line("start_ns", work.start_ns);
  line("device_ns", work.device_ns);
  line("stream", work.stream);
}

namespace {

using simdjson::dom::element;
using simdjson::dom::object;

/// [bytes, address, …]
struct Blocks {
  std::span<const HeapBlock> blocks;
  [[nodiscard]] bool empty() const { return blocks.empty(); }
};

void append_value(LineText& text, const Blocks& all) {
  for (const HeapBlock& block : all.blocks) {
    text.out += &block == all.blocks.data() ? '[' : ',';
    append_json_int(text.out, block.bytes);
    text.out += ',';
    append_json_uint(text.out, block.address);
  }
  text.out += ']';
}

std::vector<HeapBlock> read_blocks(const ProgramLines& lines, const element& value) {
  std::vector<HeapBlock> blocks;
  const auto numbers = lines.as<simdjson::dom::array>("blocks", value);
  for (auto number = numbers.begin(); number != numbers.end(); ++number) {
    HeapBlock& block = blocks.emplace_back(HeapBlock{lines.as<std::int64_t>("blocks", *number), 0});
    if (++number == numbers.end()) {
      lines.fail("blocks", "a list of [bytes, address, …]", value);
    }
    block.address = lines.as<std::uint64_t>("blocks", *number);
  }
  return blocks;
}

Timing read_timing(const ProgramLines& lines, object object) {
  LineReader line(lines, object, "");
  Timing timing;
  line("start_ns", timing.start_ns);
  line("host_ns", timing.host_ns);
  line("gap_ns", timing.gap_ns);
  line.if_any("device_ns", timing.device_ns);
  line.if_any("launches", timing.launches);
  line.if_any("stream", timing.stream);
  line.if_any("page_faults", timing.page_faults);
  line.if_any("classes", timing.kernel_classes);
  return timing;
}

}  // namespace

std::string timings_to_text(const Program& program) {
  constexpr std::size_t kBytesPerLine = 64;
  const auto count = static_cast<std::size_t>(std::ranges::count_if(
      program.instructions,
      [](const Instruction& instruction) { return instruction.timing.has_value(); }));
  LineText text;
  text.out.reserve(kBytesPerLine * (count + program.device_work.size() + 1));
  append_line(text, [&](LineWriter& line) {
    line("timings", count);
    line.if_any("work", program.device_work.size());
  });
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (!program.instructions[i].timing) {
      continue;
    }
    const Timing& timing = *program.instructions[i].timing;
    append_line(text, [&](LineWriter& line) {
      line("i", i);
      line("start_ns", timing.start_ns);
      line("host_ns", timing.host_ns);
      line("gap_ns", timing.gap_ns);
      if (timing.launches != 0 || timing.device_ns != 0) {
        line("device_ns", timing.device_ns);
        line("launches", timing.launches);
      }
      line.if_any("stream", timing.stream);
      line.if_any("blocks", Blocks{heap_blocks_of(program, i)});
      line.if_any("page_faults", timing.page_faults);
      line.if_any("classes", timing.kernel_classes);
    });
  }
  for (const DeviceWork& work : program.device_work) {
    append_line(text, [&](LineWriter& line) { members(line, work); });
  }
  return std::move(text.out);
}

void apply_timings(std::string_view text, const std::string& file, Program& program) {
  ProgramLines lines(text, file);
  const object header = lines.next("the header {\"timings\":…}");
  const std::uint64_t count = lines.count(header, "timings");
  const std::uint64_t work =
      header["work"].error() == simdjson::SUCCESS ? lines.count(header, "work") : 0;
  const std::string expected = "one of " + std::to_string(count) + " timings";
  std::uint64_t next = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    const object line = lines.next(expected);
    const element number = lines.required(line, "i");
    const auto index = lines.as<std::uint64_t>("i", number);
    if (index < next || index >= program.instructions.size()) {
      lines.fail(
          "i",
          "rising numbers of instructions, below " + std::to_string(program.instructions.size()),
          number);
    }
    program.instructions[index].timing = read_timing(lines, line);
    if (element blocks; line["blocks"].get(blocks) == simdjson::SUCCESS) {
      if (std::vector<HeapBlock> read = read_blocks(lines, blocks); !read.empty()) {
        program.heap_blocks[index] = std::move(read);
      }
    }
    next = index + 1;
  }
  for (std::uint64_t k = 0; k < work; ++k) {
    LineReader line(lines, lines.next("one of " + std::to_string(work) + " pieces of work"), "");
    members(line, program.device_work.emplace_back());
  }
  lines.expect_end("the end: the header announces " + std::to_string(count) + " timings" +
                   (work > 0 ? " and " + std::to_string(work) + " pieces of work" : ""));
}

}  // namespace understudy::et_schema
