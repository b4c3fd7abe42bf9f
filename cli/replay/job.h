#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "cli/common/output_path.h"
#include "cli/common/progress.h"
#include "cli/common/stop_signals.h"
#include "cli/sandbox/sandbox.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/operator_times/operator_times.h"
#include "et_schema/model/report.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::cli {

/// Printed to standard error at the first SIGINT during a measurement.
inline constexpr const char* kEndingWords =
    "\nreplay: ending the measurement, to report what was measured; once more ends it at once";

/// One process' part in a replay, alone or under a launcher.
class ReplayJob {
 public:
  /// `stuck` reports an error and ends the process: see BackendOptions.
  explicit ReplayJob(std::function<void(const et_schema::Error&)> stuck)
      : stuck_(std::move(stuck)) {}

  /// Runs the replay. Returns the exit status: 0, or 130 and 143 after SIGINT and SIGTERM. Throws
  /// et_schema::Error with this process' rank. If all ranks find the same error, even in their
  /// arguments, only one throws it.
  int run(const std::function<ReplayArguments()>& read_arguments);

  /// Ends the other ranks after run() has thrown. Does nothing if there are none, or if run()
  /// completed, since then all ranks complete.
  void end_others(int status);

 private:
  /// Confines the process while it has one thread: MPI and LibTorch start others.
  void confine();
  void join_launcher();
  void check_rank() const;
  /// Throws if the ranks' arguments differ: the ranks could wait for each other forever.
  void check_alike();
  /// Throws if `mine` differs from rank 0's value.
  void check_same(const std::string& mine, const char* summary, const std::string& field,
                  const char* hint);
  [[nodiscard]] const std::string& benchmark_hash();
  void load();
  /// Throws before the work if an output cannot be written or would overwrite something else.
  void refuse_outputs() const;
  [[nodiscard]] std::vector<NamedOutput> outputs() const;
  void check_world_size() const;
  /// Throws unless a partial benchmark is replayed as one rank alone, or on all its ranks without
  /// communication.
  void check_partial() const;
  [[nodiscard]] int run_ranks();
  void list_counters() const;
  void match_ranks();
  [[nodiscard]] replayer::RankRun measure();
  [[nodiscard]] et_schema::Report merged(const replayer::RankRun& run);
  [[nodiscard]] std::string printed(const et_schema::Report& report) const;
  void print(const et_schema::Report& report) const;
  [[nodiscard]] std::vector<et_schema::Ceiling> ceilings(int threads) const;
  void write_rank_files(const replayer::RankRun& run, const et_schema::Report& report);
  void check_coverage(const et_schema::Report& report) const;
  /// Runs `part` on all ranks. If it throws on some, the lowest of these ranks throws and the
  /// others wait to be ended.
  void together(const std::function<void()>& part);
  [[nodiscard]] int processes() const { return backend_ == nullptr ? 1 : backend_->world_size(); }
  [[nodiscard]] bool is_alone() const { return processes() == 1; }
  [[nodiscard]] bool is_first() const { return backend_->rank() == 0; }
  /// Returns the index in the benchmark of the program that this process replays.
  [[nodiscard]] int bench_rank() const;

  std::function<void(const et_schema::Error&)> stuck_;
  ReplayArguments arguments_;
  std::unique_ptr<backends::Backend> backend_;
  et_schema::Bench bench_;
  std::string benchmark_hash_;          ///< hash of `bench_`; empty: not yet computed
  std::vector<std::string> libraries_;  ///< recorded in the report's environment
  Progress progress_;
  StopSignals signals_;
  std::string guessed_comms_;  ///< the report's note on simulated times
  Sandbox sandbox_;
  bool has_ended_ = false;  ///< run() completed
};

/// Returns all files that a replay of `ranks` ranks writes.
[[nodiscard]] std::vector<NamedOutput> outputs_of(const ReplayArguments& arguments, int ranks);

/// Returns the path of a rank's intermediate profile for --trace: beside `path` if its folder
/// exists.
[[nodiscard]] std::string profile_path(const std::string& path, int rank, int ranks);

/// Writes FILE, or a FILE.R for each of several ranks. `texts`: by rank.
void write_checksums(const std::string& path, const std::vector<std::string>& texts);

/// Writes the header of `times`, then the rows of all ranks' texts.
void write_operator_times(const std::string& path, et_schema::OperatorTimes times,
                          const std::vector<std::string>& texts);

/// Writes the ranks' Kineto profiles. One rank: to FILE. Several: each to out.R.json, and all of
/// them to FILE, where each rank has its own processes.
void write_traces(const std::string& path, const std::vector<std::string>& profiles);

}  // namespace understudy::cli
