#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "fleet/comparer/compare.h"
#include "fleet/comparer/device_work.h"
#include "fleet/comparer/run.h"

namespace understudy::cli {

/// Which verdicts end the program with status 1; with kUnsure the lack of any with status 3, too.
enum class FailOn : std::uint8_t { kSlower, kUnsure, kDifferent, kNever };

/// Arguments of `compare`.
struct CompareArguments {
  std::vector<std::string> a, b;  ///< reports, profiles, or folders of them
  Format format = Format::kText;
  FailOn fail_on = FailOn::kSlower;
  bool different_benchmarks = false;
  std::string names;  ///< path; empty: names stay as they are
  comparer::CompareOptions options;
  bool quiet = false;
};

/// Throws what parse_arguments() throws.
[[nodiscard]] CompareArguments read_compare_arguments(int argc, char** argv);

/// The runs of both sides.
struct ComparedRuns {
  std::vector<comparer::Run> a, b;
  /// set only if both sides are profiles with device events
  std::optional<comparer::DeviceComparison> devices = {};
  /// the profile without device events, if the other one has them
  std::string without_device = {};
};

/// Reads reports, predictions and Kineto profiles, plain or gzipped, and folders of them. If one
/// input is a profile, operators lose their overload names. Throws Error (bad input) if a file is
/// none of these or a folder holds none, and as parse_report(), parse_prediction() and
/// parse_kineto() do.
[[nodiscard]] ComparedRuns read_runs(const CompareArguments& arguments);

}  // namespace understudy::cli
