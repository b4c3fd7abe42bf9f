#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "common/progress.h"
#include "predictor/embedding/fitted.h"

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

/// Measures calls over embedding tables on this machine's CPU (calibrator/design/table_calls.h),
/// until the budget is spent, all are measured or `is_over`; the file is whole after each. Throws
/// Error: it cannot be read or written.
[[nodiscard]] TablesSummary measure_tables(const TablesOptions& options,
                                           const std::function<bool()>& is_over,
                                           Progress& progress);

}  // namespace understudy::cli
