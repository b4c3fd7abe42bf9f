#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "arguments.h"
#include "cli/common/progress.h"
#include "cli/pages/document/page.h"
#include "predictor/platform/ceilings.h"
#include "replayer/job/replay.h"

namespace understudy::cli {

/// Returns the GPU's name ("NVIDIA H100 80GB HBM3"); empty on a CPU, or if the driver does not
/// report it.
[[nodiscard]] std::string gpu_name(c10::Device device);

/// Result of a calibration of operators.
struct CalibrationSummary {
  double page_fault_ns = 0;  ///< time of the first access to a page that the system has just mapped
  std::vector<predictor::Ceiling> ceilings;
  std::size_t found_rows = 0;                    ///< rows of an interrupted calibration
  std::map<std::string, std::uint64_t> refused;  ///< calls of areas, by operator and reason
  std::size_t rows = 0;
  double spent_s = 0;
  int signal = 0;  ///< signal that ended the calibration; 0: none
};

/// Measures operators of this machine into the rows' file. Continues an interrupted calibration.
/// Throws Error if a file cannot be read or written.
[[nodiscard]] CalibrationSummary measure_operators(const CalibrateArguments& arguments,
                                                   Progress& progress);

/// Fits models to the rows, and adds these sections. JSON and CSV show only the measurement; the
/// models are in the file.
void write_platform(const CalibrateArguments& arguments,
                    std::map<std::string, std::string> sections);

/// Shows the result of a calibration. `rows`: path of the rows' file.
[[nodiscard]] pages::Page summary_page(const CalibrationSummary& summary, const std::string& rows);

}  // namespace understudy::cli
