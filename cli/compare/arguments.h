#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "fleet/comparer/compare.h"
#include "fleet/comparer/device_work.h"
#include "fleet/comparer/run.h"

namespace understudy::cli {

/// Which verdicts end the program with status 1.
enum class FailOn : std::uint8_t { kSlower, kDifferent, kNever };

/// What `compare` was asked to do.
struct CompareArguments {
  std::vector<std::string> a, b;  ///< reports, profiles, or folders of them
  std::string output;             ///< empty: standard output
  Format format = Format::kText;
  FailOn fail_on = FailOn::kSlower;
  bool different_benchmarks = false;
  std::size_t top = 15;  ///< operators in the text
  comparer::CompareOptions options;
  bool quiet = false;
};

/// Throws what parse_arguments() throws.
[[nodiscard]] CompareArguments read_compare_arguments(int argc, char** argv);

/// The runs of both sides.
struct ComparedRuns {
  std::vector<comparer::Run> a, b;
  std::optional<comparer::DeviceComparison> devices = {};  ///< of two profiles with device events
  std::string without_device = {};  ///< the one of two profiles that alone shows no device
};

/// Reads reports, predictions and Kineto profiles, plain or gzipped, and folders of them. Beside a
/// profile operators lose their overloads. Throws Error (bad input): none of these, a folder
/// without any, and what parse_report(), parse_prediction() and parse_kineto() throw.
[[nodiscard]] ComparedRuns read_runs(const std::vector<std::string>& a,
                                     const std::vector<std::string>& b);

}  // namespace understudy::cli
