#include "predictor/calls/measured_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/file_name.h"
#include "et_schema/base/input_files.h"

namespace understudy::predictor {
namespace {

namespace fs = std::filesystem;

/// Returns true for rows that ran with realistic caches. Rows of a calibration count only if they
/// are cold, because in a step other operators run between two uses of a tensor.
bool is_measured(const MeasuredCall& row) {
  const bool ran = row.as == et_schema::RanAs::kExact || row.as == et_schema::RanAs::kSubstitute;
  const bool is_warm = row.conditions && !row.conditions->is_cold;
  return ran && !is_warm && row.time().median_ns > 0;
}

/// Returns the file itself, or the tables of a folder.
std::vector<std::string> tables_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    return {path};
  }
  std::vector<std::string> names = files_below(path);
  std::erase_if(names, [](const std::string& name) { return !is_named_table(name); });
  return names;
}

constexpr const char* kInputsHint =
    "inputs are operator tables (CSV), replay --operator-times files, benchmarks with recorded "
    "times, collective or embedding rows, nccl-tests output, Kineto profiles: docs/formats.md";

[[noreturn]] void refuse_file(const std::string& file, std::string got, const char* hint = "") {
  throw et_schema::bad_input(
      "no measurements of operators",
      {.file = file,
       .expected = "a CSV table of operators, or what `replay --operator-times` wrote",
       .got = std::move(got),
       .hint = hint});
}

void read_file(et_schema::InputFile&& file, RowsRead& rows) {
  std::vector<MeasuredCall> calls;
  if (names_format(file.data, "understudy-operator-times")) {
    et_schema::OperatorTimes times = et_schema::parse_operator_times(file.data, file.name);
    const std::size_t all = times.rows.size();
    std::ranges::move(times.ceilings, std::back_inserter(rows.ceilings));
    const std::size_t bursts = all - std::erase_if(times.rows, [&](const MeasuredCall& row) {
                                 const bool is_sustained =
                                     row.conditions && row.conditions->is_sustained;
                                 if (is_sustained) {
                                   rows.sustained.push_back(row);
                                 }
                                 return is_sustained;
                               });
    calls = calls_of(std::move(times), std::string(et_schema::file_name(file.name)));
    const std::size_t left = bursts - calls.size();
    if (left > 0) {
      rows.left_out["communication, stubs, warm caches and rows without a time"] += left;
    }
  } else if (file.data.find_first_not_of(" \t\r\n") != std::string::npos &&
             file.data[file.data.find_first_not_of(" \t\r\n")] == '{') {
    refuse_file(file.name, "another JSON file", kInputsHint);
  } else {
    calls = calls_of(et_schema::parse_csv(file.data, file.name), Times::kRequired);
  }
  std::ranges::move(calls, std::back_inserter(rows.calls));
}

}  // namespace

bool names_format(std::string_view text, std::string_view format) {
  constexpr std::size_t kHeadBytes = 4096;
  return text.substr(0, kHeadBytes).find(fmt::format("\"{}\"", format)) != std::string_view::npos;
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code type_error;
    const bool is_hidden = entry->path().filename().string().starts_with('.');
    if (!is_hidden && entry->is_regular_file(type_error)) {
      names.push_back(entry->path().string());
    }
  }
  if (error) {
    throw et_schema::bad_input("a folder that cannot be read",
                               {.file = folder, .got = error.message()});
  }
  std::ranges::sort(names);
  return names;
}

bool is_named_table(std::string_view name) {
  return name.ends_with(".csv") || name.ends_with(".csv.gz") || name.ends_with(".jsonl") ||
         name.ends_with(".jsonl.gz");
}

std::vector<MeasuredCall> calls_of(et_schema::OperatorTimes times, const std::string& source) {
  std::erase_if(times.rows, [](const MeasuredCall& row) { return !is_measured(row); });
  for (MeasuredCall& row : times.rows) {
    const bool on_device = row.on_device.has_value();
    row.call = sparse_update(row.call).value_or(row.call);
    row.device = on_device ? times.device : "cpu";
    row.threads = on_device ? 0 : row.conditions ? row.conditions->threads : times.threads;
    row.source = source;
  }
  return std::move(times.rows);
}

RowsRead read_measured_calls(const std::vector<std::string>& paths) {
  RowsRead rows;
  for (const std::string& path : paths) {
    const std::size_t before = rows.calls.size();
    for (const std::string& file : tables_of(path)) {
      et_schema::read_input_files(
          file, et_schema::process_limits(),
          [&](et_schema::InputFile&& unpacked) { read_file(std::move(unpacked), rows); });
    }
    if (rows.calls.size() == before) {
      refuse_file(path,
                  fs::is_directory(path) ? "a folder without any row" : "a file without any row");
    }
  }
  return rows;
}

}  // namespace understudy::predictor
