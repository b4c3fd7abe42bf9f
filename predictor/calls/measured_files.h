#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/operator_times/operator_times.h"
#include "predictor/calls/call.h"
#include "predictor/calls/csv.h"

namespace understudy::predictor {

/// Contiguous ones have no strides.
[[nodiscard]] std::vector<TensorLayout> layouts_of(
    const std::vector<et_schema::TimedTensor>& tensors);

/// Rows of a `replay --operator-times` file: those of operators that ran as recorded or through a
/// substitute, on a card its device times, on a CPU the host's. Communication and stubs are left
/// out.
[[nodiscard]] std::vector<MeasuredCall> calls_of(const et_schema::OperatorTimes& times,
                                                 const std::string& source);

/// What reading left out, by reason.
struct RowsRead {
  std::vector<MeasuredCall> calls;
  std::map<std::string, std::uint64_t> left_out;
};

/// All files below a folder in the order of their names, hidden ones left out. Throws Error (bad
/// input): a folder that cannot be read.
[[nodiscard]] std::vector<std::string> files_below(const std::string& folder);

/// Whether a file in a folder is taken for rows of operators: a CSV table or an operator-times
/// file, gzipped or not.
[[nodiscard]] bool is_named_table(std::string_view name);

/// Files and folders, folders with all below them, of operator tables (CSV) and operator-times
/// files, gzipped or not. Throws Error (bad input): no row at all, and what the readers throw.
[[nodiscard]] RowsRead read_measured_calls(const std::vector<std::string>& paths);

/// Whether a table has to say what its calls took.
enum class Times : std::uint8_t { kRequired, kOptional };

/// The calls of a table of operators, one for each record (docs/formats.md, "Operator tables").
/// `OPName` is either an operator with `Inputs` and `Outputs` columns, or one of the short names of
/// kernel tables ("add", "addu", "linear", "conv" …), whose shape columns are then read. Times are
/// milliseconds; without them `median_ns` is 0. Throws Error (bad input) with file, line and
/// column: a column that is missing, an operator that is not known, a size below 1, a time that is
/// not above 0.
[[nodiscard]] std::vector<MeasuredCall> calls_of(const CsvTable& table, Times times);

/// A table in the general form, which calls_of() reads back.
[[nodiscard]] std::string to_csv(const std::vector<MeasuredCall>& calls);

}  // namespace understudy::predictor
