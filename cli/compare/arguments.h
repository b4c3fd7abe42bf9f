#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/pages/document/page.h"
#include "cli/profile/launches.h"
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

/// A rank's step that did not run.
struct NotRun {
  std::string file;
  std::string device = {};                       ///< empty: a benchmark does not name it
  std::optional<std::uint64_t> peak_bytes = {};  ///< of tensors; unset: not known
  std::vector<Launch> launches = {};  ///< of a benchmark its operators, by tensors and launches
};

/// The runs of both sides.
struct ComparedRuns {
  std::vector<comparer::Run> a, b;
  /// set only if both sides are profiles with device events
  std::optional<comparer::DeviceComparison> devices = {};
  /// the profile without device events, if the other one has them
  std::string without_device = {};
  /// in place of all else if the sides did not run
  std::vector<NotRun> not_run_a = {}, not_run_b = {};
};

/// Reads reports, predictions and Kineto profiles, plain or gzipped, folders of them, and
/// benchmarks whose step did not run. If one input is a profile, operators lose their overload
/// names. Throws Error (bad input) if a file is none of these or a folder holds none, and as
/// parse_report(), parse_prediction() and parse_kineto() do.
[[nodiscard]] ComparedRuns read_runs(const CompareArguments& arguments);

/// Returns the different programs of a benchmark, none if their step ran. Throws Error (bad input)
/// as read_bench() does.
[[nodiscard]] std::vector<NotRun> not_run_programs(const std::string& path);

/// Shows what came, went or changed between two steps that did not run; its tone is good if nothing
/// did. Throws Error (usage) for a capture and a benchmark, or other numbers of different ranks.
[[nodiscard]] pages::Page not_run_page(const std::vector<NotRun>& a, const std::vector<NotRun>& b);

}  // namespace understudy::cli
