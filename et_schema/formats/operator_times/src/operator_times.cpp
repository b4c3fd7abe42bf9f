#include "et_schema/operator_times/operator_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "et_schema/model/report.h"
#include "et_schema/model/sparse_content.h"
#include "et_schema/support/error.h"
#include "et_schema/support/json_fields.h"
#include "et_schema/support/json_text.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kFormat = "understudy-operator-times";
constexpr const char* kHint = "make the file again with `replay --operator-times`";

constexpr std::string_view kCold = "cold";
constexpr std::string_view kWarm = "warm";

constexpr std::array<std::pair<TimedAs, std::string_view>, 4> kNames = {
    {{TimedAs::kExact, "exact"},
     {TimedAs::kSubstitute, "substitute"},
     {TimedAs::kStub, "stub"},
     {TimedAs::kCommunication, "communication"}}};

/// One figure of the statistics and its key.
struct Figure {
  const char* key;
  double TimeStats::*value;
};
constexpr std::array<Figure, 5> kFigures = {{{"min_ns", &TimeStats::min_ns},
                                             {"p10_ns", &TimeStats::p10_ns},
                                             {"median_ns", &TimeStats::median_ns},
                                             {"p90_ns", &TimeStats::p90_ns},
                                             {"mean_ns", &TimeStats::mean_ns}}};

class Writer {
 public:
  std::string write(const InstructionTime& row) {
    write_row(row);
    return std::move(out_);
  }
  std::string write(const OperatorTimes& times) {
    begin("format", kFormat);
    integer("version", kOperatorTimesVersion);
    text("tool_version", times.tool_version);
    text("benchmark", times.benchmark);
    text("benchmark_hash", times.benchmark_hash);
    text("device", times.device);
    integer("threads", times.threads);
    integer("world_size", times.world_size);
    out_ += "}\n";
    for (const InstructionTime& row : times.rows) {
      write_row(row);
    }
    return std::move(out_);
  }

 private:
  void write_row(const InstructionTime& row) {
    out_ += "{\"rank\":";
    append_json_int(out_, row.rank);
    unsigned_integer("instruction", row.instruction);
    unsigned_integer("node", row.node_id);
    text("name", row.name);
    text("overload", row.overload);
    text("class", row.op_class);
    text("as", to_string(row.as));
    tensors("inputs", row.inputs);
    tensors("outputs", row.outputs);
    key("host");
    stats(row.host);
    key("device");
    if (row.device) {
      stats(*row.device);
    } else {
      out_ += "null";
    }
    if (!row.counters.empty()) {
      write_counters(row.counters);
    }
    if (row.conditions) {
      write_conditions(*row.conditions);
    }
    out_ += "}\n";
  }

  void write_counters(const std::map<std::string, double>& counters) {
    key("counters");
    out_ += "{";
    for (const auto& [name, count] : counters) {
      out_ += out_.back() == '{' ? "" : ",";
      append_json_string(out_, name);
      out_ += ":";
      append_json_double(out_, count);
    }
    out_ += "}";
  }

  void write_conditions(const TimedConditions& conditions) {
    key("conditions");
    begin("call", conditions.call);
    text("cache", conditions.is_cold ? kCold : kWarm);
    integer("threads", conditions.threads);
    number("zeros", conditions.zeros);
    number("speed_probe_ms", conditions.speed_probe_ms);
    number("at_s", conditions.at_s);
    if (conditions.lookups) {
      key("lookups");
      out_ += "{\"rows\":";
      append_json_int(out_, conditions.lookups->rows);
      integer("lookups", conditions.lookups->lookups);
      integer("unique", conditions.lookups->unique);
      out_ += "}";
    }
    out_ += "}";
  }

  void begin(const char* name, std::string_view value) {
    out_ += "{";
    append_json_string(out_, name);
    out_ += ":";
    append_json_string(out_, value);
  }
  void key(const char* name) {
    out_ += ",";
    append_json_string(out_, name);
    out_ += ":";
  }
  void text(const char* name, std::string_view value) {
    key(name);
    append_json_string(out_, value);
  }
  void integer(const char* name, std::int64_t value) {
    key(name);
    append_json_int(out_, value);
  }
  void number(const char* name, double value) {
    key(name);
    append_json_double(out_, value);
  }
  void unsigned_integer(const char* name, std::uint64_t value) {
    key(name);
    append_json_uint(out_, value);
  }
  void tensors(const char* name, const std::vector<TimedTensor>& tensors) {
    key(name);
    out_ += "[";
    for (const TimedTensor& tensor : tensors) {
      out_ += out_.back() == '[' ? "{\"dtype\":" : ",{\"dtype\":";
      append_json_string(out_, to_string(tensor.dtype));
      text("device", to_string(tensor.device));
      key("sizes");
      append_json_ints(out_, tensor.sizes);
      key("strides");
      append_json_ints(out_, tensor.strides);
      if (tensor.stored) {
        integer("stored", *tensor.stored);
      }
      out_ += "}";
    }
    out_ += "]";
  }
  void stats(const TimeStats& stats) {
    out_ += "{\"n\":";
    append_json_uint(out_, stats.n);
    for (const Figure& figure : kFigures) {
      key(figure.key);
      append_json_double(out_, stats.*figure.value);
    }
    out_ += "}";
  }

  std::string out_;
};

TimedAs read_as(const JsonField& field) {
  for (const auto& [as, name] : kNames) {
    if (field.as_text() == name) {
      return as;
    }
  }
  field.fail("exact, substitute, stub or communication", field.as_text());
}

std::vector<TimedTensor> read_tensors(const JsonField& field) {
  std::vector<TimedTensor> tensors;
  for (const JsonField& item : field.items()) {
    TimedTensor& tensor = tensors.emplace_back();
    const JsonField dtype = item.at("dtype");
    const std::optional<DType> known = dtype_from_string(dtype.as_text());
    if (!known) {
      dtype.fail("an element type", dtype.as_text());
    }
    tensor.dtype = *known;
    tensor.device = parse_device(item.at("device").as_text());
    tensor.sizes = item.at("sizes").as_ints();
    tensor.strides = item.at("strides").as_ints();
    if (tensor.strides.empty()) {
      tensor.strides.assign(tensor.sizes.size(), 0);  // a sparse tensor's, as some wrote them
    }
    if (const auto stored = item.find("stored")) {
      tensor.stored = stored->as_int();
    }
  }
  return tensors;
}

TimeStats read_stats(const JsonField& field) {
  TimeStats stats;
  stats.n = field.at("n").as_uint();
  for (const Figure& figure : kFigures) {
    const JsonField value = field.at(figure.key);
    stats.*figure.value = value.as_double();
    if (!(stats.*figure.value >= 0)) {
      value.fail("nanoseconds, 0 or more", fmt::format("{}", stats.*figure.value));
    }
  }
  return stats;
}

bool read_cache(const JsonField& field) {
  if (field.as_text() != kCold && field.as_text() != kWarm) {
    field.fail("cold or warm", field.as_text());
  }
  return field.as_text() == kCold;
}

TimedConditions read_conditions(const JsonField& field) {
  TimedConditions conditions;
  conditions.call = field.at("call").as_text();
  conditions.is_cold = read_cache(field.at("cache"));
  conditions.threads = field.at("threads").as_int32();
  conditions.zeros = field.at("zeros").as_double();
  conditions.speed_probe_ms = field.at("speed_probe_ms").as_double();
  conditions.at_s = field.at("at_s").as_double();
  if (const auto lookups = field.find("lookups")) {
    conditions.lookups = {lookups->at("rows").as_int(), lookups->at("lookups").as_int(),
                          lookups->at("unique").as_int()};
  }
  return conditions;
}

InstructionTime read_row(const JsonField& line) {
  InstructionTime row;
  row.rank = line.at("rank").as_int32();
  row.instruction = line.at("instruction").as_uint();
  row.node_id = line.at("node").as_uint();
  row.name = line.at("name").as_text();
  row.overload = line.at("overload").as_text();
  row.op_class = line.at("class").as_text();
  row.as = read_as(line.at("as"));
  row.inputs = read_tensors(line.at("inputs"));
  row.outputs = read_tensors(line.at("outputs"));
  row.host = read_stats(line.at("host"));
  const JsonField device = line.at("device");
  if (!device.is_null()) {
    row.device = read_stats(device);
  }
  if (const auto counters = line.find("counters")) {
    for (const auto& [name, count] : counters->members()) {
      row.counters[name] = count.as_double();
    }
  }
  if (const auto conditions = line.find("conditions")) {
    row.conditions = read_conditions(*conditions);
  }
  return row;
}

void add_tensors(const Program& program, const std::vector<Argument>& arguments,
                 std::vector<TimedTensor>& tensors) {
  for (const Argument& argument : arguments) {
    if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
      add_tensors(program, *list, tensors);
    } else if (const auto* reference = std::get_if<Argument::SlotRef>(&argument.value)) {
      const Slot& slot = program.slots[reference->id];
      TimedTensor& tensor = tensors.emplace_back();
      tensor = {slot.dtype, program.storages[slot.storage].device, slot.sizes, slot.strides};
      if (const auto content = sparse_content(program, reference->id)) {
        tensor.stored = stored_values(slot, *content);
      }
    }
  }
}

}  // namespace

std::optional<TimeStats> time_stats(std::vector<double> samples_ns) {
  if (samples_ns.empty()) {
    return std::nullopt;
  }
  constexpr double kLow = 0.1;
  constexpr double kHalf = 0.5;
  constexpr double kHigh = 0.9;
  std::ranges::sort(samples_ns);
  const double sum = std::accumulate(samples_ns.begin(), samples_ns.end(), 0.0);
  return TimeStats{samples_ns.size(),
                   samples_ns.front(),
                   *percentile(samples_ns, kLow),
                   *percentile(samples_ns, kHalf),
                   *percentile(samples_ns, kHigh),
                   sum / static_cast<double>(samples_ns.size())};
}

std::string_view to_string(TimedAs as) {
  return std::ranges::find(kNames, as, &std::pair<TimedAs, std::string_view>::first)->second;
}

std::string to_json_lines(const OperatorTimes& times) {
  return Writer().write(times);
}

std::string to_json_line(const InstructionTime& row) {
  return Writer().write(row);
}

OperatorTimes parse_operator_times(std::string_view text, const std::string& file) {
  OperatorTimes times;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string name = fmt::format("{}, line {}", file, ++number);
    const JsonSource source{name, "the operator times cannot be read", kHint};
    const nlohmann::json document = parse_json(text.substr(begin, end - begin), source);
    const JsonField line(document, source);
    if (number == 1) {
      const auto writer = line.find("tool_version");
      check_format(line, {"operator times", kFormat, kOperatorTimesVersion}, name,
                   writer ? writer->as_text() : std::string());
      times.tool_version = line.at("tool_version").as_text();
      times.benchmark = line.at("benchmark").as_text();
      times.benchmark_hash = line.at("benchmark_hash").as_text();
      times.device = line.at("device").as_text();
      times.threads = line.at("threads").as_int32();
      times.world_size = line.at("world_size").as_int32();
    } else {
      times.rows.push_back(read_row(line));
    }
    begin = end + 1;
  }
  if (number == 0) {
    throw bad_input("the operator times cannot be read", {.file = file,
                                                          .expected = "a header line and rows",
                                                          .got = "an empty file",
                                                          .hint = kHint});
  }
  return times;
}

std::vector<TimedTensor> timed_tensors(const Program& program,
                                       const std::vector<Argument>& arguments) {
  std::vector<TimedTensor> tensors;
  add_tensors(program, arguments, tensors);
  return tensors;
}

}  // namespace understudy::et_schema
