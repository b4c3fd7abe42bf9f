#pragma once

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
#include "cli/sandbox/sandbox.h"
#include "predictor/embedding/fitted.h"
#include "replayer/calibrator/sweep/journal.h"
#include "replayer/calibrator/sweep/sweep.h"

namespace understudy::cli {

/// What became of measuring embedding tables.
struct TablesSummary {
  std::size_t calls = 0;  ///< measured now or before
  std::size_t found = 0;  ///< of these, by an interrupted calibration
  double spent_s = 0;     ///< now
  /// Each call is a row of both directions.
  [[nodiscard]] bool make_a_model() const { return calls >= predictor::kLeastEmbeddingRows; }
};

/// As many calls over tables are measured as have the time, at most.
inline constexpr std::size_t kMostTableCalls = 240;

struct TablesOptions {
  std::string path;      ///< of the embedding rows; calls that are there are not measured again
  int threads = 1;       ///< of an operator
  double budget_s = 60;  ///< of measuring now
};

/// Measures calls over embedding tables on this machine's CPU
/// (replayer/calibrator/design/table_calls.h), until the budget is spent, all are measured or
/// `is_over`; the file is whole after each. Throws Error: it cannot be read or written.
[[nodiscard]] TablesSummary measure_tables(const TablesOptions& options,
                                           const std::function<bool()>& is_over,
                                           Progress& progress);

/// What became of a set of calls that is no area: those of benchmarks, their neighbours.
struct CallCounts {
  std::size_t calls = 0;
  std::size_t timed = 0;
  std::map<std::string, std::uint64_t> refused;   ///< by operator and reason
  std::map<std::string, std::uint64_t> left_out;  ///< instructions that are no calls, by reason
};

/// What a calibration of operators did.
struct CalibrationSummary {
  double page_fault_ns = 0;    ///< the first touch of a page that the system hands out
  std::size_t found_rows = 0;  ///< of an interrupted calibration
  double found_s = 0;
  bool found_cut_line = false;
  CallCounts of_benches;
  CallCounts neighbours;
  std::vector<calibrator::AreaResult> areas;
  std::map<std::string, std::uint64_t> refused;  ///< of areas, by operator and reason
  std::optional<TablesSummary> tables;           ///< absent: not asked for
  std::size_t rows = 0;
  double spent_s = 0;
  int signal = 0;  ///< that ended it; 0: none
};

/// Where rows of embedding tables are kept beside those of operators.
[[nodiscard]] std::string tables_file(const std::string& rows);

/// Measures operators of this machine into the rows' file, and embedding tables into the one beside
/// it, and goes on with what is there. Throws Error: files that cannot be read or written.
/// Closes the sandbox for starting programs once benchmarks are read.
[[nodiscard]] CalibrationSummary measure_operators(const CalibrateArguments& arguments,
                                                   Sandbox& sandbox, Progress& progress);

/// What became of it; `rows`: their file.
[[nodiscard]] pages::Page summary_page(const CalibrationSummary& summary, const std::string& rows);

}  // namespace understudy::cli
