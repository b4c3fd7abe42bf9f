#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comparer/device_work.h"
#include "comparer/run.h"
#include "et_schema/report/report_json.h"

namespace understudy::cli {

/// The runs of both sides.
struct ComparedRuns {
  std::vector<comparer::Run> a, b;
  std::optional<comparer::DeviceSides> devices = {};  ///< of two profiles with device events
};

/// Reads reports, predictions and Kineto profiles, plain or gzipped, and folders of them. Beside a
/// profile operators lose their overloads. Throws Error (bad input): none of these, a folder
/// without any, and what parse_report(), parse_prediction() and parse_kineto() throw.
[[nodiscard]] ComparedRuns read_runs(const std::vector<std::string>& a,
                                     const std::vector<std::string>& b);

}  // namespace understudy::cli
