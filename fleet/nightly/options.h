#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace understudy::fleet {

/// The programs that a night starts.
struct Tools {
  std::string generate;
  std::string replay;
  std::string
      generator;  ///< "generate 0.1.0": its version is part of what a benchmark follows from
};

/// How this process replays: as its command line says. The database, which a stranger may have
/// written, has no say in it.
struct ReplayOptions {
  bool generate_only = false;
  int iterations = 0;              ///< 0: as replay does
  double seconds = 0;              ///< 0: as replay does
  std::vector<std::string> flags;  ///< more, for `replay`
  /// Words before `replay` where a benchmark has several ranks; {ranks} is their number.
  std::vector<std::string> launcher = {"mpirun", "-np", "{ranks}"};
  bool oversubscribes = false;  ///< also benchmarks of more ranks than this node has cores
  double timeout_s = 1800;      ///< of one replay
  double least_change = 0.03;   ///< of a slowdown that is reported
};

/// What a night was asked to do.
struct NightOptions {
  std::string url;    ///< of the database
  std::string store;  ///< folder
  std::string platform;
  std::size_t jobs = 1;      ///< benchmarks made at a time
  bool regenerates = false;  ///< rebuild all benchmarks
  double drift_above = 0.1;
  double generate_timeout_s = 3600;
  double lease_s = 30;
  std::string otava;  ///< Python with apache-otava; empty: none
  ReplayOptions replay;
  Tools tools;
};

/// What a job's flags for `generate` may be: those that decide what the benchmark is. Others would
/// write elsewhere than into the store, or no benchmark. Returns the first word that is none of
/// them nor the value of one; empty where all are right.
[[nodiscard]] std::string refused_generate_flag(const std::vector<std::string>& words);

/// "--allow-partial, --batch, …": those that may be.
[[nodiscard]] std::string allowed_generate_flags();

}  // namespace understudy::fleet
