#pragma once

#include <string>
#include <vector>

#include "predictor/rows/call.h"
#include "predictor/rows/csv.h"

namespace understudy::predictor {

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
