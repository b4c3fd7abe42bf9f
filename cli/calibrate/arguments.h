#pragma once

#include <string>
#include <vector>

#include "et_schema/model/operator_trust.h"
#include "fit_files.h"

namespace understudy::cli {

/// What the first interrupt is answered.
inline constexpr const char* kEndingWords =
    "\ncalibrate: ending the measurement, its rows are kept; once more ends it at once";

/// What `calibrate` was asked to do. Without inputs it measures.
struct CalibrateArguments {
  FitArguments fit;
  std::string rows;                               ///< where rows are kept while they are measured
  bool keeps_rows = false;                        ///< once they are in the platform
  std::vector<std::string> benches;               ///< --for
  et_schema::AllowedOperators allowed_operators;  ///< in them
  bool sweeps = false;                            ///< --sweep: beside the calls of benchmarks
  std::string device = "cpu";                     ///< of communication: "cpu", "cuda", "cuda:N"
  bool energy = false;                            ///< --energy: of each call on a GPU
  double budget_s = 0;
  std::string only;          ///< a class; empty: all
  std::vector<int> threads;  ///< of operators
};

/// Throws what parse_arguments() throws.
[[nodiscard]] CalibrateArguments read_calibrate_arguments(int argc, char** argv);

}  // namespace understudy::cli
