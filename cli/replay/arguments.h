#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/sandbox/sandbox.h"
#include "replayer/job/replay.h"

namespace understudy::cli {

/// Arguments of `replay`.
struct ReplayArguments {
  std::string input;  ///< bench.et, a trace, an archive or a folder
  std::optional<int> rank;
  std::optional<double> min_coverage;
  /// Source of the times of simulated communication: "recorded" or a platform file. Empty:
  /// communication is not simulated.
  std::string comm_times;
  std::vector<std::string> op_libraries;
  std::vector<std::string> op_maps;
  std::string report_path;
  std::string operator_times_path;
  std::string trace_path;
  std::string checksums_path;
  Format format = Format::kText;
  bool quiet = false;
  bool anonymous = false;
  Sandboxing sandbox = Sandboxing::kAuto;
  bool lists_counters = false;  ///< in place of a replay
  replayer::ReplayOptions options;
  std::vector<std::string> filters;  ///< with the report's names
};

/// Returns the settings by their name in the report.
[[nodiscard]] std::map<std::string, std::string> settings_of(const ReplayArguments& arguments);

/// Throws what parse_arguments() throws.
[[nodiscard]] ReplayArguments read_replay_arguments(int argc, char** argv);

}  // namespace understudy::cli
