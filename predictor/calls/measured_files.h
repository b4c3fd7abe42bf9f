#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/csv.h"
#include "et_schema/formats/operator_times/operator_times.h"
#include "predictor/calls/call.h"

namespace understudy::predictor {

/// Returns the rows of a `replay --operator-times` file: operators that ran as recorded or through
/// a substitute, without communication and stubs. Times are the device's on a card, else the
/// host's.
[[nodiscard]] std::vector<MeasuredCall> calls_of(et_schema::OperatorTimes times,
                                                 const std::string& source);

/// Returns true if the text's first 4 KiB name a format of Understudy's as a JSON text.
[[nodiscard]] bool names_format(std::string_view text, std::string_view format);

/// Rows that were read, and the number of omitted ones by reason.
struct RowsRead {
  std::vector<MeasuredCall> calls;
  std::map<std::string, std::uint64_t> left_out;
  std::vector<MeasuredCall> sustained;       ///< of calls back to back; `calls` are bursts
  std::vector<et_schema::Ceiling> ceilings;  ///< of the machines that measured them
};

/// Returns all files below a folder, ordered by name, without hidden ones. Throws Error (bad input)
/// if the folder cannot be read.
[[nodiscard]] std::vector<std::string> files_below(const std::string& folder);

/// Returns true if a file's name is that of operator rows: a CSV table or operator times, gzipped
/// or not. Of a folder's files, these are read.
[[nodiscard]] bool is_named_table(std::string_view name);

/// Reads operator tables (CSV) and operator-times files, gzipped or not. For a folder, reads all
/// files below it. Throws Error (bad input) if there is no row, and as the readers do.
[[nodiscard]] RowsRead read_measured_calls(const std::vector<std::string>& paths);

/// Whether a table must have times: with kRequired, a table without times is refused.
enum class Times : std::uint8_t { kRequired, kOptional };

/// Returns one call for each record of an operator table (docs/formats.md, "Operator tables").
/// `OPName` is an operator with `Inputs` and `Outputs` columns, or a short name of kernel tables
/// ("add", "linear", "conv" …) with its shape columns. Times are in milliseconds or in the
/// title's unit; without them they are 0. Throws Error (bad input) with file, line and
/// column if a column is missing, an operator unknown, a size below 1, or a time not above 0.
[[nodiscard]] std::vector<MeasuredCall> calls_of(const et_schema::CsvTable& table, Times times);

/// Writes a table in the general form, which calls_of() can read.
[[nodiscard]] std::string to_csv(const std::vector<MeasuredCall>& calls);

}  // namespace understudy::predictor
