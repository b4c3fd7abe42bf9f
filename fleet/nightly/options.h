#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace understudy::fleet {

/// The programs that a night starts.
struct Tools {
  std::string generate;
  std::string replay;
  std::string generator;  ///< "generate 0.1.0": its version is part of a benchmark's key
};

/// How this process replays. Set only from its command line: somebody else may have written the
/// database, which must not decide how programs are run.
struct ReplayOptions {
  bool generate_only = false;
  int iterations = 0;              ///< 0: the default of `replay`
  double seconds = 0;              ///< 0: the default of `replay`
  std::vector<std::string> flags;  ///< further flags for `replay`
  /// Words before `replay` for a benchmark with several ranks; {ranks} is their number.
  std::vector<std::string> launcher = {"mpirun", "-np", "{ranks}"};
  bool oversubscribes = false;  ///< also replay benchmarks with more ranks than this node has cores
  double timeout_s = 1800;      ///< per replay
  double least_change = 0.03;   ///< smallest slowdown that is reported
};

/// Settings of a night.
struct NightOptions {
  std::string url;    ///< of the database
  std::string store;  ///< folder
  std::string platform;
  std::size_t jobs = 1;      ///< benchmarks that are made concurrently
  bool regenerates = false;  ///< rebuild all benchmarks
  double drift_above = 0.1;
  double generate_timeout_s = 3600;
  double lease_s = 30;
  std::string otava;  ///< Python with apache-otava; empty: no change points
  ReplayOptions replay;
  Tools tools;
};

/// Checks a job's flags for `generate`. Only flags that decide the benchmark's content are allowed;
/// others could write outside of the store, or write no benchmark. Returns the first word that is
/// neither an allowed flag nor a value of one; empty if all are allowed.
[[nodiscard]] std::string refused_generate_flag(const std::vector<std::string>& words);

/// Returns the allowed flags: "--allow-missing, --batch, …".
[[nodiscard]] std::string allowed_generate_flags();

}  // namespace understudy::fleet
