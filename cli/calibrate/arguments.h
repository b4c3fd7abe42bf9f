#pragma once

#include <string>
#include <vector>

#include "fit_files.h"

namespace understudy::cli {

/// Printed to standard error at the first interrupt.
inline constexpr const char* kEndingWords =
    "\ncalibrate: ending the measurement, its rows are kept; once more ends it at once";

/// Arguments of `calibrate`. Without inputs it measures.
struct CalibrateArguments {
  FitArguments fit;
  std::string rows;            ///< file that collects rows during a measurement
  bool keeps_rows = false;     ///< that file is the output, in place of a platform
  std::string device = "cpu";  ///< device of communication: "cpu", "cuda", "cuda:N"
  double budget_s = 0;
  std::string only;          ///< an operator class; empty: all
  std::vector<int> threads;  ///< thread counts that operators are measured with
};

/// Throws what parse_arguments() throws.
[[nodiscard]] CalibrateArguments read_calibrate_arguments(int argc, char** argv);

}  // namespace understudy::cli
