#include <algorithm>
#include <cmath>

#include "et_schema/bench/program_text.h"
#include "et_schema/support/json_text.h"
#include "program_names.h"
#include "value_rule_parameters.h"

namespace understudy::et_schema {
namespace {

// Schema, storage and slot lines run to about this many bytes, instruction lines to twice as many.
constexpr std::size_t kBytesPerLine = 128;

class ProgramWriter {
 public:
  ProgramWriter(const Program& program, TextDetail detail)
      : program_(program), personal_(detail == TextDetail::kFull) {}

  std::string write() {
    const std::uint64_t lines = count_lines(program_.instructions);
    out_.reserve(kBytesPerLine * (program_.schemas.size() + program_.storages.size() +
                                  program_.slots.size() + 2 * lines));
    write_header(lines);
    for (std::size_t i = 0; i < program_.schemas.size(); ++i) {
      out_ += "{\"schema\":";
      append_json_uint(out_, i);
      text_field("text", program_.schemas[i]);
      out_ += "}\n";
    }
    for (std::size_t i = 0; i < program_.storages.size(); ++i) {
      write_storage(i, program_.storages[i]);
    }
    for (std::size_t i = 0; i < program_.slots.size(); ++i) {
      write_slot(i, program_.slots[i]);
    }
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      write_instruction(i, 0, program_.instructions[i]);
    }
    return std::move(out_);
  }

 private:
  static std::uint64_t count_lines(const std::vector<Instruction>& instructions) {
    std::uint64_t lines = instructions.size();
    for (const Instruction& instruction : instructions) {
      lines += count_lines(instruction.body);
    }
    return lines;
  }

  void write_header(std::uint64_t lines) {
    out_ += "{\"schemas\":";
    append_json_uint(out_, program_.schemas.size());
    uint_field("storages", program_.storages.size());
    uint_field("slots", program_.slots.size());
    uint_field("instructions", lines);
    out_ += "}\n";
  }

  void write_storage(std::size_t index, const Storage& storage) {
    out_ += "{\"storage\":";
    append_json_uint(out_, index);
    key("device");
    write_device(storage.device);
    int_field("bytes", storage.bytes);
    flag("external", storage.external);
    if (storage.held_until) {
      uint_field("held_until", *storage.held_until);
    }
    flag("state", storage.state);
    double_field("zeros", storage.zeros);
    flag("untouched", storage.untouched);
    flag("pinned", storage.pinned);
    out_ += "}\n";
  }

  void write_slot(std::size_t index, const Slot& slot) {
    out_ += "{\"slot\":";
    append_json_uint(out_, index);
    uint_field("storage", slot.storage);
    text_field("dtype", to_string(slot.dtype));
    ints_field("sizes", slot.sizes);
    if (!contiguous_strides(slot.sizes, strides_) || strides_ != slot.strides) {
      ints_field("strides", slot.strides);
    }
    if (slot.offset != 0) {
      int_field("offset", slot.offset);
    }
    flag("strides_recorded", slot.strides_recorded);
    flag("external", slot.external);
    flag("wrapped_number", slot.wrapped_number);
    flag("sparse", slot.sparse);
    if (slot.value) {
      out_ += ",\"value\":";
      write_rule(*slot.value);
    }
    if (slot.content) {
      write_content(*slot.content);
    }
    out_ += "}\n";
  }

  void write_content(const SparseContent& content) {
    out_ += R"(,"content":{"layout":)";
    append_json_string(out_, to_string(content.layout));
    int_field("elements", content.elements);
    flag("coalesced", content.coalesced);
    out_ += ",\"indices\":[";
    for (const ValueRule& rule : content.indices) {
      out_ += &rule == content.indices.data() ? "" : ",";
      write_rule(rule);
    }
    out_ += "]}";
  }

  void write_rule(const ValueRule& rule) {
    out_ += R"({"rule":)";
    append_json_string(out_, name_of(rule.kind));
    const auto write_parameter = [this](std::string_view name, const auto& parameter) {
      parameter_field(name, parameter);
    };
    std::visit([&](const auto& kind) { for_each_parameter(kind, write_parameter); }, rule.kind);
    if (!rule.why.empty()) {
      text_field("why", rule.why);
    }
    out_ += '}';
  }

  void parameter_field(std::string_view name, double value) { double_field(name, value); }
  void parameter_field(std::string_view name, bool value) { flag(name, value); }
  void parameter_field(std::string_view name, std::int64_t value) {
    if (value != 0) {
      int_field(name, value);
    }
  }
  void parameter_field(std::string_view name, WrittenAsReal<const std::int64_t> value) {
    double_field(name, static_cast<double>(value.number));
  }
  void parameter_field(std::string_view name, const std::vector<ValueRule::Segment>& segments) {
    if (segments.empty()) {
      return;
    }
    key(name);
    out_ += '[';
    for (const ValueRule::Segment& segment : segments) {
      out_ += &segment == segments.data() ? "[" : ",[";
      append_json_int(out_, segment.count);
      out_ += ',';
      append_json_int(out_, segment.sum);
      out_ += ']';
    }
    out_ += ']';
  }
  void parameter_field(std::string_view /*name*/, const Reuse& reuse) { write_reuse(reuse); }

  void write_reuse(const Reuse& reuse) {
    out_ += ",\"reuse\":[";
    for (const ReuseBin& bin : reuse.bins) {
      out_ += &bin == reuse.bins.data() ? "[" : ",[";
      append_json_int(out_, bin.low);
      out_ += ',';
      append_json_int(out_, bin.high);
      for (const Repeat& repeat : bin.repeats) {
        out_ += ',';
        append_json_int(out_, repeat.times);
        out_ += ',';
        append_json_int(out_, repeat.numbers);
      }
      out_ += ']';
    }
    out_ += ']';
    if (reuse.run != 1) {
      int_field("run", reuse.run);
    }
    flag("sorted", reuse.sorted);
  }

  void write_instruction(std::size_t index, std::uint64_t depth, const Instruction& instruction) {
    if (depth == 0) {
      out_ += "{\"i\":";
      append_json_uint(out_, index);
    } else {
      out_ += "{\"body\":";
      append_json_uint(out_, depth);
    }
    text_field(to_string(instruction.kind), instruction.name);
    if (personal_) {
      uint_field("node", instruction.node_id);
    }
    if (instruction.thread != 1) {
      uint_field("thread", instruction.thread);
    }
    if (instruction.schema) {
      uint_field("schema", *instruction.schema);
    }
    if (!instruction.args.empty()) {
      key("args");
      write_arguments(instruction.args);
    }
    if (!instruction.results.empty()) {
      key("results");
      write_arguments(instruction.results);
    }
    flag("pinned", instruction.pinned);
    if (instruction.comm) {
      write_comm(*instruction.comm);
    }
    out_ += "}\n";
    for (const Instruction& inner : instruction.body) {
      write_instruction(0, depth + 1, inner);
    }
  }

  void write_comm(const CommInfo& comm) {
    out_ += R"(,"comm":{"kind":)";
    append_json_string(out_, to_string(comm.kind));
    text_field("reduce_op", comm.reduce_op);
    if (comm.is_async) {
      key("is_async");
      out_ += *comm.is_async ? "true" : "false";
    }
    if (comm.names_group) {
      key("names_group");
      out_ += "true";
    }
    if (comm.is_p2p) {
      key("is_p2p");
      out_ += *comm.is_p2p ? "true" : "false";
    }
    if (personal_) {
      uint_field("group", comm.group);
      int_field("root_or_peer", comm.root_or_peer);
      if (!comm.in_splits.empty()) {
        ints_field("in_splits", comm.in_splits);
      }
      if (!comm.out_splits.empty()) {
        ints_field("out_splits", comm.out_splits);
      }
      if (comm.seq) {
        int_field("seq", *comm.seq);
      }
    }
    out_ += '}';
  }

  void write_arguments(const std::vector<Argument>& arguments) {
    out_ += '[';
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (i != 0) {
        out_ += ',';
      }
      std::visit([this](const auto& value) { write(value); }, arguments[i].value);
    }
    out_ += ']';
  }

  void write(Argument::None) { out_ += "null"; }
  void write(Argument::Undefined) { out_ += "\"undefined\""; }
  void write(Argument::SlotRef slot) {
    out_ += "\"%";
    append_json_uint(out_, slot.id);
    out_ += '"';
  }
  void write(bool value) { out_ += value ? "true" : "false"; }
  void write(std::int64_t value) { append_json_int(out_, value); }
  void write(double value) { append_json_double(out_, value); }
  void write(const std::string& text) { write_marked('\'', text); }
  void write(Argument::DeviceRef device) {
    if (personal_) {
      write_marked('@', to_string(device.device));
    } else {
      write_device(device.device);
    }
  }
  void write(const Argument::Opaque& opaque) { write_marked('#', opaque.tag); }
  void write(const Argument::List& list) { write_arguments(list); }

  // A string whose first character tells what the rest is.
  void write_marked(char mark, std::string_view text) {
    const std::size_t start = out_.size();
    append_json_string(out_, text);
    out_.insert(start + 1, 1, mark);
  }

  void write_device(Device device) {
    if (personal_) {
      append_json_string(out_, to_string(device));
      return;
    }
    const auto found = std::find(devices_.begin(), devices_.end(), device);
    out_ += '@';
    append_json_int(out_, static_cast<int>(device.type));
    out_ += '#';
    append_json_int(out_, found - devices_.begin());
    if (found == devices_.end()) {
      devices_.push_back(device);
    }
  }

  void key(std::string_view name) {
    out_ += ",\"";
    out_ += name;
    out_ += "\":";
  }
  void text_field(std::string_view name, std::string_view text) {
    key(name);
    append_json_string(out_, text);
  }
  void int_field(std::string_view name, std::int64_t value) {
    key(name);
    append_json_int(out_, value);
  }
  void uint_field(std::string_view name, std::uint64_t value) {
    key(name);
    append_json_uint(out_, value);
  }
  void ints_field(std::string_view name, const std::vector<std::int64_t>& values) {
    key(name);
    append_json_ints(out_, values);
  }
  void double_field(std::string_view name, double value) {
    if (value != 0 || std::signbit(value)) {
      key(name);
      append_json_double(out_, value);
    }
  }
  void flag(std::string_view name, bool value) {
    if (value) {
      key(name);
      out_ += "true";
    }
  }

  const Program& program_;
  bool personal_;
  std::string out_;
  std::vector<std::int64_t> strides_;  // kept between slots
  std::vector<Device> devices_;        // in order of appearance
};

}  // namespace

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
  return ProgramWriter(program, detail).write();
}

}  // namespace understudy::et_schema
