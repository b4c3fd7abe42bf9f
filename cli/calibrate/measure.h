#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "cli/common/progress.h"
#include "cli/pages/document/page.h"
#include "predictor/embedding/fitted.h"
#include "predictor/platform/ceilings.h"
#include "replayer/job/replay.h"

namespace understudy::cli {

/// Returns the GPU's name ("NVIDIA H100 80GB HBM3"); empty on a CPU, or if the driver does not
/// report it.
[[nodiscard]] std::string gpu_name(c10::Device device);

/// Result of measuring embedding tables.
struct TablesSummary {
  std::size_t calls = 0;  ///< measured by this run or an earlier one
  std::size_t found = 0;  ///< of these, measured by an interrupted calibration
  double spent_s = 0;     ///< time of this run
  /// Returns true if the calls suffice for a model: each gives one row, forward and backward.
  [[nodiscard]] bool make_a_model() const { return calls >= predictor::kLeastEmbeddingRows; }
};

/// Upper bound of the measured calls; the budget may end the measurement earlier.
inline constexpr std::size_t kMostTableCalls = 240;

struct TablesOptions {
  std::string path;  ///< file of the embedding rows; calls with a row are not measured again
  backends::Backend& backend;
  int threads = 1;       ///< threads of an operator
  double budget_s = 60;  ///< time of this measurement
};

/// Measures calls over embedding tables on this machine's CPU
/// (replayer/calibrator/design/table_calls.h), until the budget is spent, all calls are measured or
/// `is_over` returns true. The file is complete after each call. Throws Error if the file cannot be
/// read or written.
[[nodiscard]] TablesSummary measure_tables(const TablesOptions& options,
                                           const std::function<bool()>& is_over,
                                           Progress& progress);

/// What became of an operator's calls.
struct OperatorCounts {
  std::string name;
  std::string op_class;
  std::size_t timed = 0;
  std::size_t refused = 0;
};

/// Result of a calibration of operators.
struct CalibrationSummary {
  double page_fault_ns = 0;  ///< time of the first access to a page that the system has just mapped
  std::vector<predictor::Ceiling> ceilings;
  std::size_t found_rows = 0;  ///< rows of an interrupted calibration
  std::vector<OperatorCounts> operators;
  std::map<std::string, std::uint64_t> refused;  ///< calls of areas, by operator and reason
  std::optional<TablesSummary> tables;           ///< unset if not requested
  std::size_t rows = 0;
  double spent_s = 0;
  int signal = 0;  ///< signal that ended the calibration; 0: none
};

/// Returns the path of the embedding tables' rows, beside the file of the operators' rows.
[[nodiscard]] std::string tables_file(const std::string& rows);

/// Measures operators of this machine into the rows' file, and embedding tables into the file
/// beside it. Continues an interrupted calibration. Throws Error if a file cannot be read or
/// written.
[[nodiscard]] CalibrationSummary measure_operators(const CalibrateArguments& arguments,
                                                   Progress& progress);

/// Shows the result of a calibration. `rows`: path of the rows' file.
[[nodiscard]] pages::Page summary_page(const CalibrationSummary& summary, const std::string& rows);

}  // namespace understudy::cli
