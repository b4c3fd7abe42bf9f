#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/sandbox/sandbox.h"
#include "replayer/calibrator/measure/collective_sweep.h"
#include "replayer/job/replay.h"

namespace understudy::cli {

/// What `replay` was asked to do.
struct ReplayArguments {
  std::string input;  ///< bench.et, a trace, an archive or a folder
  std::optional<int> rank;
  std::optional<double> min_coverage;
  /// "recorded" or a platform file: how long communication takes, which then is simulated; empty:
  /// it is not.
  std::string comm_times;
  std::vector<std::string> op_libraries;
  std::vector<std::string> op_maps;
  std::string report_path;
  std::string operator_times_path;
  std::string trace_path;
  std::string checksums_path;
  Format format = Format::kText;
  bool quiet = false;
  Sandboxing sandbox = Sandboxing::kAuto;
  replayer::ReplayOptions options;
  std::vector<std::string> filters;      ///< as the report names them
  calibrator::SweepOptions sweep;        ///< without kinds: a benchmark is replayed
  std::vector<std::string> sweep_names;  ///< of the kinds, as they were given
};

/// By name, as the report has them.
[[nodiscard]] std::map<std::string, std::string> settings_of(const ReplayArguments& arguments);

/// Throws what parse_arguments() throws.
[[nodiscard]] ReplayArguments read_replay_arguments(int argc, char** argv);

}  // namespace understudy::cli
