#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "et_schema/bench/program_text.h"
#include "et_schema/support/quote.h"
#include "program_lines.h"
#include "program_names.h"
#include "value_rule_parameters.h"

namespace understudy::et_schema {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// Counts of the header are claims: no more is reserved ahead than so many bytes of text can hold.
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
    read_lines("storage", storages, program_.storages, &ProgramReader::read_storage);
    read_lines("slot", slots, program_.slots, &ProgramReader::read_slot);
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

  // ---- lines

  std::string read_schema(object line) {
    return std::string(lines_.to_name("text", lines_.required(line, "text")));
  }

  Storage read_storage(object line) {
    Storage storage;
    storage.device = parse_device(lines_.to_text("device", lines_.required(line, "device")));
    storage.bytes = lines_.to_int("bytes", lines_.required(line, "bytes"));
    if (element external; line["external"].get(external) == simdjson::SUCCESS) {
      storage.external = lines_.to_bool("external", external);
    }
    if (element held; line["held_until"].get(held) == simdjson::SUCCESS) {
      storage.held_until = lines_.to_index("held_until", held);
    }
    if (element state; line["state"].get(state) == simdjson::SUCCESS) {
      storage.state = lines_.to_bool("state", state);
    }
    if (element zeros; line["zeros"].get(zeros) == simdjson::SUCCESS) {
      storage.zeros = lines_.to_double("zeros", zeros);
    }
    if (element untouched; line["untouched"].get(untouched) == simdjson::SUCCESS) {
      storage.untouched = lines_.to_bool("untouched", untouched);
    }
    if (element pinned; line["pinned"].get(pinned) == simdjson::SUCCESS) {
      storage.pinned = lines_.to_bool("pinned", pinned);
    }
    return storage;
  }

  Slot read_slot(object line) {
    Slot slot;
    slot.storage = lines_.to_index("storage", lines_.required(line, "storage"));
    const element dtype = lines_.required(line, "dtype");
    if (const auto known = dtype_from_string(lines_.to_text("dtype", dtype))) {
      slot.dtype = *known;
    } else {
      lines_.fail("dtype", "the name of a dtype", dtype);
    }
    slot.sizes = lines_.to_ints("sizes", lines_.required(line, "sizes"));
    bool has_strides = false;
    for (const auto [key, value] : line) {
      if (key == "strides") {
        slot.strides = lines_.to_ints(key, value);
        has_strides = true;
      } else if (key == "offset") {
        slot.offset = lines_.to_int(key, value);
      } else if (key == "strides_recorded") {
        slot.strides_recorded = lines_.to_bool(key, value);
      } else if (key == "external") {
        slot.external = lines_.to_bool(key, value);
      } else if (key == "wrapped_number") {
        slot.wrapped_number = lines_.to_bool(key, value);
      } else if (key == "sparse") {
        slot.sparse = lines_.to_bool(key, value);
      } else if (key == "value") {
        slot.value = read_rule(lines_.to_object(key, value));
      } else if (key == "content") {
        slot.content = read_content(lines_.to_object(key, value));
      }
    }
    if (!has_strides && !contiguous_strides(slot.sizes, slot.strides)) {
      lines_.fail("sizes", "fewer than 2^63 elements", lines_.required(line, "sizes"));
    }
    return slot;
  }

  SparseContent read_content(object fields) {
    SparseContent content;
    const element layout = lines_.required(fields, "layout");
    if (const auto known = sparse_layout_from_string(lines_.to_text("content.layout", layout))) {
      content.layout = *known;
    } else {
      lines_.fail("content.layout", "coo, csr or csc", layout);
    }
    content.elements = lines_.to_int("content.elements", lines_.required(fields, "elements"));
    if (element coalesced; fields["coalesced"].get(coalesced) == simdjson::SUCCESS) {
      content.coalesced = lines_.to_bool("content.coalesced", coalesced);
    }
    const element indices = lines_.required(fields, "indices");
    for (const element rule : lines_.to_array("content.indices", indices)) {
      content.indices.push_back(read_rule(lines_.to_object("content.indices", rule)));
    }
    return content;
  }

  ValueRule read_rule(object fields) {
    const element name = lines_.required(fields, "rule");
    std::optional<ValueRule> rule = value_rule_from_name(lines_.to_text("value.rule", name));
    if (!rule) {
      lines_.fail("value.rule", "the name of a value rule", name);
    }
    for (const auto [key, value] : fields) {
      if (key == "why") {
        rule->why = lines_.to_name("value.why", value);
        continue;
      }
      const auto read_if_named = [&, key = key, value = value](std::string_view parameter,
                                                               auto&& into) {
        read_parameter(parameter, key, value, into);
      };
      std::visit([&](auto& kind) { for_each_parameter(kind, read_if_named); }, rule->kind);
    }
    return *std::move(rule);
  }

  // Each takes `value` if it is the parameter's.
  void read_parameter(std::string_view name, std::string_view key, element value, double& into) {
    into = name == key ? lines_.to_double(field_of(key), value) : into;
  }
  void read_parameter(std::string_view name, std::string_view key, element value, bool& into) {
    into = name == key ? lines_.to_bool(field_of(key), value) : into;
  }
  void read_parameter(std::string_view name, std::string_view key, element value,
                      std::int64_t& into) {
    into = name == key ? lines_.to_int(field_of(key), value) : into;
  }
  void read_parameter(std::string_view name, std::string_view key, element value,
                      WrittenAsReal<std::int64_t> into) {
    if (name != key) {
      return;
    }
    constexpr double kMost = 0x1p53;
    const double number = lines_.to_double(field_of(key), value);
    if (!(number >= 0 && number <= kMost && number == std::trunc(number))) {
      lines_.fail(field_of(key), "a whole number from 0 to 2^53", value);
    }
    into.number = static_cast<std::int64_t>(number);
  }
  void read_parameter(std::string_view name, std::string_view key, element value,
                      std::vector<ValueRule::Segment>& into) {
    if (name == key) {
      into = read_segments(lines_.to_array(field_of(key), value));
    }
  }
  void read_parameter(std::string_view name, std::string_view key, element value, Reuse& into) {
    if (key == name) {
      into.bins = read_bins(lines_.to_array(field_of(key), value));
    } else if (key == "run") {
      into.run = lines_.to_int(field_of(key), value);
    } else if (key == "sorted") {
      into.sorted = lines_.to_bool(field_of(key), value);
    }
  }
  static std::string field_of(std::string_view key) { return "value." + std::string(key); }

  std::vector<ValueRule::Segment> read_segments(array items) {
    std::vector<ValueRule::Segment> segments;
    segments.reserve(items.size());
    for (const element item : items) {
      const std::vector<std::int64_t> pair = lines_.to_ints("value.segments", item);
      if (pair.size() != 2) {
        lines_.fail("value.segments", "a list of [count, sum]", item);
      }
      segments.push_back({pair[0], pair[1]});
    }
    return segments;
  }

  std::vector<ReuseBin> read_bins(array items) {
    std::vector<ReuseBin> bins;
    bins.reserve(items.size());
    for (const element item : items) {
      const std::vector<std::int64_t> numbers = lines_.to_ints("value.reuse", item);
      if (numbers.size() < 4 || numbers.size() % 2 != 0) {
        lines_.fail("value.reuse", "a list of [low, high, times, numbers, …]", item);
      }
      ReuseBin& bin = bins.emplace_back(ReuseBin{numbers[0], numbers[1], {}});
      for (std::size_t i = 2; i < numbers.size(); i += 2) {
        bin.repeats.push_back({numbers[i], numbers[i + 1]});
      }
    }
    return bins;
  }

  void read_instruction(object line) {
    Instruction instruction;
    std::uint64_t depth = 0;
    bool named = false;
    for (const auto [key, value] : line) {
      if (key == "node") {
        instruction.node_id = lines_.to_uint(key, value);
      } else if (key == "args") {
        instruction.args = read_arguments(key, value, 1);
      } else if (key == "results") {
        instruction.results = read_arguments(key, value, 1);
      } else if (key == "schema") {
        instruction.schema = lines_.to_index(key, value);
      } else if (key == "thread") {
        instruction.thread = lines_.to_uint(key, value);
      } else if (key == "body") {
        depth = lines_.to_uint(key, value);
      } else if (key == "pinned") {
        instruction.pinned = lines_.to_bool(key, value);
      } else if (key == "comm") {
        instruction.comm = read_comm(lines_.to_object(key, value));
      } else if (const auto kind = instruction_kind_from_string(key); kind && !named) {
        instruction.kind = *kind;
        instruction.name = lines_.to_name(key, value);
        named = true;
      }
    }
    if (!named) {
      lines_.fail("", "an instruction: {\"i\":…,\"op\":…}", quote(simdjson::minify(line)));
    }
    std::vector<Instruction>& level = body_at(depth);
    if (depth == 0 && lines_.to_uint("i", lines_.required(line, "i")) != level.size()) {
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

  CommInfo read_comm(object fields) {
    CommInfo comm;
    const element kind = lines_.required(fields, "kind");
    if (const auto known = comm_kind_from_string(lines_.to_text("comm.kind", kind))) {
      comm.kind = *known;
    } else {
      lines_.fail("comm.kind", "the name of a collective", kind);
    }
    for (const auto [key, value] : fields) {
      if (key == "reduce_op") {
        comm.reduce_op = lines_.to_text("comm.reduce_op", value);
      } else if (key == "is_async") {
        comm.is_async = lines_.to_bool("comm.is_async", value);
      } else if (key == "group") {
        comm.group = lines_.to_index("comm.group", value);
      } else if (key == "root_or_peer") {
        comm.root_or_peer = lines_.to_int("comm.root_or_peer", value);
      } else if (key == "in_splits") {
        comm.in_splits = lines_.to_ints("comm.in_splits", value);
      } else if (key == "out_splits") {
        comm.out_splits = lines_.to_ints("comm.out_splits", value);
      } else if (key == "seq") {
        comm.seq = lines_.to_int("comm.seq", value);
      } else if (key == "names_group") {
        comm.names_group = lines_.to_bool("comm.names_group", value);
      } else if (key == "is_p2p") {
        comm.is_p2p = lines_.to_bool("comm.is_p2p", value);
      }
    }
    return comm;
  }

  [[nodiscard]] std::vector<Argument> read_arguments(std::string_view field, element value,
                                                     int depth) const {
    if (depth > kMaxListDepth) {
      lines_.fail(field, "lists nested at most " + std::to_string(kMaxListDepth) + " deep",
                  "a deeper one");
    }
    std::vector<Argument> arguments;
    const array items = lines_.to_array(field, value);
    arguments.reserve(items.size());
    for (const element item : items) {
      arguments.push_back(read_argument(field, item, depth));
    }
    return arguments;
  }

  [[nodiscard]] Argument read_argument(std::string_view field, element value, int depth) const {
    using simdjson::dom::element_type;
    switch (value.type()) {
      case element_type::NULL_VALUE:
        return {Argument::None{}};
      case element_type::BOOL:
        return {lines_.to_bool(field, value)};
      case element_type::INT64:
        return {lines_.to_int(field, value)};
      case element_type::DOUBLE:
        return {lines_.to_double(field, value)};
      case element_type::ARRAY:
        return {read_arguments(field, value, depth + 1)};
      case element_type::STRING:
        return read_marked(field, value);
      default:
        lines_.fail(field, "an argument", value);
    }
  }

  [[nodiscard]] Argument read_marked(std::string_view field, element value) const {
    const std::string_view text = lines_.to_text(field, value);
    const char mark = text.empty() ? '\0' : text.front();
    const std::string_view rest = text.substr(std::min<std::size_t>(1, text.size()));
    if (mark == '%') {
      return {read_slot_ref(field, value, rest)};
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
        field,
        "a slot \"%N\", a text \"'…\", a device \"@…\", an opaque \"#…\", \"undefined\", \"inf\", "
        "\"-inf\" or \"nan\"",
        value);
  }

  [[nodiscard]] Argument::SlotRef read_slot_ref(std::string_view field, element value,
                                                std::string_view digits) const {
    std::uint64_t id = 0;
    constexpr std::size_t kMostDigits = 10;
    const bool all_digits =
        !digits.empty() && digits.size() <= kMostDigits &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    for (const char c : all_digits ? digits : std::string_view()) {
      id = id * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (!all_digits || id > std::numeric_limits<SlotId>::max()) {
      lines_.fail(field, "a slot \"%N\"", value);
    }
    return {static_cast<SlotId>(id)};
  }

  ProgramLines lines_;
  Program program_;
};

}  // namespace

Program program_from_text(std::string_view text, const std::string& file) {
  return ProgramReader(text, file).read();
}

}  // namespace understudy::et_schema
