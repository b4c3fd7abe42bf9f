#pragma once

#include <string>
#include <vector>

#include "et_schema/operator_times/operator_times.h"
#include "predictor/rows/call.h"

namespace understudy::predictor {

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

/// Files and folders, folders with all below them, of operator tables (CSV) and operator-times
/// files, gzipped or not. Throws Error (bad input): no row at all, and what the readers throw.
[[nodiscard]] RowsRead read_measured_calls(const std::vector<std::string>& paths);

}  // namespace understudy::predictor
