#include "predictor/rows/operator_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "et_schema/support/error.h"
#include "et_schema/support/quote.h"
#include "kernel_shapes.h"

namespace understudy::predictor {
namespace {

constexpr double kNsPerMs = 1e6;
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
  /// What there is in place of a title: often the same with a blank, a unit or small letters.
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
    double value = 0;
    const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || stop != cell.data() + cell.size() || !std::isfinite(value)) {
      refuse(column, std::string(expected), cell);
    }
    return value;
  }
  /// Milliseconds in the file, nanoseconds here.
  [[nodiscard]] double time_ns(std::string_view column, bool may_be_zero) const {
    const std::string expected =
        may_be_zero ? "milliseconds, 0 or more" : "milliseconds, more than 0";
    const double value = number(column, expected);
    if (value < 0 || (value == 0 && !may_be_zero)) {
      refuse(column, expected, text(column));
    }
    return value * kNsPerMs;
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
  std::vector<TensorLayout> all;
  std::string_view left = row.text(column);
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(' '), left.size());
    const std::string_view text = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (text.empty()) {
      continue;
    }
    std::optional<TensorLayout> tensor = parse_tensor_layout(text);
    if (!tensor) {
      row.refuse(column, "tensors such as \"float32[4,5] int64[4]\"", text);
    }
    for (const std::int64_t size : tensor->sizes) {
      if (size < 1) {
        row.refuse(column, "sizes of 1 or more", text);
      }
    }
    all.push_back(std::move(*tensor));
  }
  return all;
}

et_schema::DType dtype_of(const Row& row) {
  if (!row.has("Dtype")) {
    return et_schema::DType::kFloat32;
  }
  const std::optional<et_schema::DType> dtype = et_schema::dtype_from_string(row.text("Dtype"));
  if (!dtype || et_schema::item_size(*dtype) == 0) {
    row.refuse("Dtype", "an element type such as \"float32\"", row.text("Dtype"));
  }
  return *dtype;
}

OperatorCall kernel_call(const Row& row, const KernelShape& shape) {
  std::vector<std::int64_t> values;
  for (const std::string_view column : shape.columns) {
    // The published tables misspell this one.
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
  const std::string& name = row.text("OPName");
  const std::size_t dot = std::min(name.find('.'), name.size());
  OperatorCall call{name.substr(0, dot), name.substr(std::min(dot + 1, name.size())), {}, {}};
  call.inputs = tensors(row, "Inputs");
  call.outputs = tensors(row, "Outputs");
  if (call.inputs.empty() && call.outputs.empty()) {
    row.refuse("Inputs", "a tensor among inputs or outputs", "");
  }
  return call;
}

/// Work and bytes are counted in 64 bits.
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
  if (times == Times::kRequired || row.has("Latency")) {
    call.median_ns = row.time_ns("Latency", false);
  }
  if (row.has("Spread")) {
    call.spread_ns = row.time_ns("Spread", true);
  }
  if (row.has("Calls")) {
    call.n = static_cast<std::uint64_t>(row.size("Calls"));
  }
  if (row.has("Timed")) {
    const std::optional<TimedAs> timed = timed_as_from_string(row.text("Timed"));
    if (!timed) {
      row.refuse("Timed", "timed_call, device or host", row.text("Timed"));
    }
    call.timed = *timed;
  }
}

std::string base_name(const std::string& file) {
  return file.substr(file.rfind('/') + 1);
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
  call.source = row.has("Source") ? row.text("Source") : base_name(table.file);
  for (const std::string& column : table.columns) {
    if (column.starts_with(kCounterPrefix) && row.has(column)) {
      call.counters[column.substr(kCounterPrefix.size())] = row.number(column, "a number");
    }
  }
  return call;
}

std::string tensor_texts(const std::vector<TensorLayout>& tensors) {
  std::string text;
  for (const TensorLayout& tensor : tensors) {
    text += (text.empty() ? "" : " ") + to_string(tensor);
  }
  return text;
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
    out += "," + csv_cell(std::string(kCounterPrefix) + name);
  }
  out += "\n";
  for (const MeasuredCall& call : calls) {
    const std::string name =
        call.call.name + (call.call.overload.empty() ? "" : "." + call.call.overload);
    out +=
        fmt::format("{},{},{},{},{},{},{},{},{},{}", csv_cell(name), call.median_ns / kNsPerMs,
                    call.spread_ns / kNsPerMs, call.n, csv_cell(call.device),
                    call.threads > 0 ? fmt::format("{}", call.threads) : "", to_string(call.timed),
                    csv_cell(call.source), csv_cell(tensor_texts(call.call.inputs)),
                    csv_cell(tensor_texts(call.call.outputs)));
    for (const auto& [name_of_counter, unused] : counters) {
      const auto found = call.counters.find(name_of_counter);
      out += found == call.counters.end() ? "," : fmt::format(",{}", found->second);
    }
    out += "\n";
  }
  return out;
}

}  // namespace understudy::predictor
