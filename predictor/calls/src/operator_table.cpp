#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/file_name.h"
#include "et_schema/base/quote.h"
#include "kernel_shapes.h"
#include "predictor/calls/measured_files.h"

namespace understudy::predictor {
namespace {

using et_schema::CsvRecord;
using et_schema::CsvTable;

constexpr double kNsPerMs = 1e6;

/// Units of times in titles: "Latency (us)". A title without one is in milliseconds.
struct TimeUnit {
  std::string_view title, text;
  double ns;
};
constexpr TimeUnit kUnits[] = {{"", "milliseconds", kNsPerMs},
                               {" (ms)", "milliseconds", kNsPerMs},
                               {" (us)", "microseconds", 1e3},
                               {" (ns)", "nanoseconds", 1}};

constexpr std::string_view kCounterPrefix = "counter:";
constexpr const char* kSummary = "the table of operators cannot be read";

[[noreturn]] void refuse(const CsvTable& table, std::size_t line, std::string column,
                         std::string expected, std::string got, std::string hint = {}) {
  throw et_schema::bad_input(kSummary, {.file = fmt::format("{}, line {}", table.file, line),
                                        .field = std::move(column),
                                        .expected = std::move(expected),
                                        .got = std::move(got),
                                        .hint = std::move(hint)});
}

/// The cells of one record by title.
class Row {
 public:
  Row(const CsvTable& table, const CsvRecord& record) : table_(table), record_(record) {}

  [[nodiscard]] bool has(std::string_view column) const {
    return table_.has(column) && !record_.cells[table_.find(column)].empty();
  }
  [[nodiscard]] const std::string& text(std::string_view column) const {
    if (!table_.has(column)) {
      predictor::refuse(table_, 1, std::string(column), "a column of this title", titles(),
                        "docs/formats.md, \"Operator tables\", lists the columns");
    }
    return record_.cells[table_.find(column)];
  }
  /// Lists the table's titles for the message about a missing one. Often the title is there, but
  /// with a blank, a unit or lower-case letters.
  [[nodiscard]] std::string titles() const {
    constexpr std::size_t kMost = 12;
    std::string list = "none among";
    for (std::size_t i = 0; i < std::min(table_.columns.size(), kMost); ++i) {
      list += (i == 0 ? " " : ", ") + fmt::format("\"{}\"", et_schema::quote(table_.columns[i]));
    }
    return list + (table_.columns.size() > kMost ? ", …" : "");
  }
  [[nodiscard]] std::int64_t size(std::string_view column) const {
    const std::string& cell = text(column);
    // Kernel tables made by pandas write some whole numbers as "3.0".
    const double value = number(column, "a whole number, 1 or more");
    constexpr double kMost = 9e15;
    const bool is_padding = column == "Padding";
    if (!(value >= (is_padding ? 0 : 1)) || value > kMost || value != std::floor(value)) {
      refuse(column, is_padding ? "a whole number, 0 or more" : "a whole number, 1 or more", cell);
    }
    return static_cast<std::int64_t>(value);
  }
  [[nodiscard]] double number(std::string_view column, std::string_view expected) const {
    const std::string& cell = text(column);
    const std::optional<double> value = number_of(cell);
    if (!value || !std::isfinite(*value)) {
      refuse(column, std::string(expected), cell);
    }
    return *value;
  }
  /// Returns the unit of the column of times, by its title.
  [[nodiscard]] const TimeUnit& unit(std::string_view column) const {
    const TimeUnit* const found = std::ranges::find_if(kUnits, [&](const TimeUnit& one) {
      return table_.has(fmt::format("{}{}", column, one.title));
    });
    return found == std::end(kUnits) ? kUnits[0] : *found;
  }
  [[nodiscard]] bool has_time(std::string_view column) const {
    return has(fmt::format("{}{}", column, unit(column).title));
  }
  /// Returns a time in nanoseconds.
  [[nodiscard]] double time_ns(std::string_view column, bool may_be_zero) const {
    const TimeUnit& in = unit(column);
    const std::string title = fmt::format("{}{}", column, in.title);
    const std::string expected =
        fmt::format("{}, {}", in.text, may_be_zero ? "0 or more" : "more than 0");
    const double ns = number(title, expected) * in.ns;
    constexpr double kMostNs = 1e18;  // 30 years
    if (ns < 0 || (ns == 0 && !may_be_zero) || ns > kMostNs) {
      refuse(title, expected, text(title));
    }
    return ns;
  }
  [[noreturn]] void refuse(std::string_view column, std::string expected,
                           std::string_view got) const {
    predictor::refuse(table_, record_.line, std::string(column), std::move(expected),
                      got.empty() ? "nothing" : et_schema::quote(got));
  }

 private:
  const CsvTable& table_;
  const CsvRecord& record_;
};

std::vector<TensorLayout> tensors(const Row& row, std::string_view column) {
  std::vector<TensorLayout> all = parse_tensors(row.text(column), [&](std::string_view word) {
    row.refuse(column, "tensors such as \"float32[4,5] int64[4]\"", word);
  });
  // Later tensors may be empty: embedding bags return outputs that only other modes use.
  if (!all.empty() && !all.front().sizes.empty() && std::ranges::min(all.front().sizes) < 1) {
    row.refuse(column, "sizes of 1 or more", to_string(all.front()));
  }
  return all;
}

DType dtype_of(const Row& row) {
  if (!row.has("Dtype")) {
    return DType::kFloat32;
  }
  const std::optional<DType> dtype = dtype_of_tool_name(row.text("Dtype"));
  if (!dtype || et_schema::item_size(*dtype) == 0) {
    row.refuse("Dtype", "an element type such as \"float32\"", row.text("Dtype"));
  }
  return *dtype;
}

OperatorCall kernel_call(const Row& row, const KernelShape& shape) {
  std::vector<std::int64_t> values;
  for (const std::string_view column : shape.columns) {
    // The published tables misspell this title.
    const bool is_misspelt = column == "Kernel_Size" && row.has("Kernel_Szie");
    values.push_back(row.size(is_misspelt ? "Kernel_Szie" : column));
  }
  OperatorCall call = shape.call(shape, dtype_of(row), values);
  for (const std::int64_t size : call.outputs[0].sizes) {
    if (size < 1) {
      row.refuse("Input_Size", "an input that the kernel fits in", row.text("Input_Size"));
    }
  }
  return call;
}

OperatorCall general_call(const Row& row) {
  OperatorCall call = et_schema::call_named(row.text("OPName"));
  call.inputs = tensors(row, "Inputs");
  call.outputs = tensors(row, "Outputs");
  if (call.inputs.empty() && call.outputs.empty()) {
    row.refuse("Inputs", "a tensor among inputs or outputs", "");
  }
  return call;
}

/// Refuses tensors whose work or bytes would overflow 64 bits.
void check_sizes(const Row& row, std::string_view column, const OperatorCall& call) {
  constexpr double kMost = 0x1p62;
  for (const std::vector<TensorLayout>* tensors : {&call.inputs, &call.outputs}) {
    for (const TensorLayout& tensor : *tensors) {
      double bytes = std::max(static_cast<double>(et_schema::item_size(tensor.dtype)), 1.0);
      for (const std::int64_t size : tensor.sizes) {
        bytes *= static_cast<double>(size);
      }
      if (bytes >= kMost) {
        row.refuse(column, "tensors below 2^62 bytes", to_string(tensor));
      }
    }
  }
}

OperatorCall call_of(const Row& row) {
  const std::string& name = row.text("OPName");
  const KernelShape* const shape = find_kernel_shape(name);
  if (shape == nullptr && name.find("::") == std::string::npos) {
    row.refuse("OPName", "an operator such as \"aten::add.Tensor\", or a kernel table's name",
               name);
  }
  OperatorCall call = shape != nullptr ? kernel_call(row, *shape) : general_call(row);
  check_sizes(row, shape != nullptr ? "OPName" : "Inputs", call);
  return call;
}

void read_times(const Row& row, Times times, MeasuredCall& call) {
  et_schema::TimeStats stats{.n = 1};
  if (times == Times::kRequired || row.has_time("Latency")) {
    stats.median_ns = row.time_ns("Latency", false);
  }
  if (row.has_time("Spread")) {
    stats.spread_ns = row.time_ns("Spread", true);
  }
  if (row.has("Calls")) {
    stats.n = static_cast<std::size_t>(row.size("Calls"));
  }
  TimedAs timed = TimedAs::kTimedCall;
  if (row.has("Timed")) {
    const std::optional<TimedAs> named = et_schema::timed_as_from_string(row.text("Timed"));
    if (!named) {
      row.refuse("Timed", "timed_call, device or host", row.text("Timed"));
    }
    timed = *named;
  }
  call.set_time(timed, stats);
}

MeasuredCall measured_call(const CsvTable& table, const CsvRecord& record, Times times) {
  const Row row(table, record);
  MeasuredCall call;
  call.call = call_of(row);
  read_times(row, times, call);
  if (times == Times::kRequired || row.has("Device")) {
    call.device = row.text("Device");
    if (call.device.empty()) {
      row.refuse("Device", "the name of a card or \"cpu\"", "");
    }
  }
  if (row.has("Threads")) {
    call.threads = static_cast<int>(std::min<std::int64_t>(row.size("Threads"), 1 << 20));
  }
  call.source =
      row.has("Source") ? row.text("Source") : std::string(et_schema::file_name(table.file));
  for (const std::string& column : table.columns) {
    if (column.starts_with(kCounterPrefix) && row.has(column)) {
      call.counters[column.substr(kCounterPrefix.size())] = row.number(column, "a number");
    }
  }
  return call;
}

}  // namespace

std::vector<MeasuredCall> calls_of(const CsvTable& table, Times times) {
  std::vector<MeasuredCall> calls;
  calls.reserve(table.records.size());
  for (const CsvRecord& record : table.records) {
    calls.push_back(measured_call(table, record, times));
  }
  return calls;
}

std::string to_csv(const std::vector<MeasuredCall>& calls) {
  std::map<std::string, double> counters;
  for (const MeasuredCall& call : calls) {
    counters.insert(call.counters.begin(), call.counters.end());
  }
  std::string out = "OPName,Latency,Spread,Calls,Device,Threads,Timed,Source,Inputs,Outputs";
  for (const auto& [name, unused] : counters) {
    out += "," + et_schema::csv_cell(std::string(kCounterPrefix) + name);
  }
  out += "\n";
  for (const MeasuredCall& call : calls) {
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}", et_schema::csv_cell(full_name(call.call)),
                       call.time().median_ns / kNsPerMs, call.time().spread_ns / kNsPerMs,
                       call.time().n, et_schema::csv_cell(call.device),
                       call.threads > 0 ? fmt::format("{}", call.threads) : "",
                       to_string(call.timed()), et_schema::csv_cell(call.source),
                       et_schema::csv_cell(to_string(call.call.inputs)),
                       et_schema::csv_cell(to_string(call.call.outputs)));
    for (const auto& [name_of_counter, unused] : counters) {
      const auto found = call.counters.find(name_of_counter);
      out += found == call.counters.end() ? "," : fmt::format(",{}", found->second);
    }
    out += "\n";
  }
  return out;
}

}  // namespace understudy::predictor
