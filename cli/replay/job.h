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

/// What SIGINT answers while something is measured.
inline constexpr const char* kEndingWords =
    "\nreplay: ending the measurement, to report what was measured; once more ends it at once";

/// One process' part in a replay, alone or under a launcher.
class ReplayJob {
 public:
  /// `stuck` tells an error and ends the process: see BackendOptions.
  explicit ReplayJob(std::function<void(const et_schema::Error&)> stuck)
      : stuck_(std::move(stuck)) {}

  /// Runs to the end; the exit status: 0, or 130 and 143 after SIGINT and SIGTERM. Throws
  /// et_schema::Error with this process' rank in it. What all ranks have found alike, in their
  /// arguments too, is thrown by one of them.
  int run(const std::function<ReplayArguments()>& read_arguments);

  /// After run() threw: takes the other ranks down, if there are any. Does nothing if there are
  /// none, or if run() came to its end, as then all ranks do.
  void end_others(int status);

 private:
  /// Confines the process while it has one thread: MPI and LibTorch start others.
  void confine();
  void join_launcher();
  void check_rank() const;
  /// Ranks that were told to run different things would wait for each other in vain.
  void check_alike();
  /// Refuses what differs from rank 0's.
  void check_same(const std::string& mine, const char* summary, const std::string& field,
                  const char* hint);
  [[nodiscard]] const std::string& benchmark_hash();
  void load();
  /// Refuses, before the work, what cannot be written or would take the place of something else.
  void refuse_outputs() const;
  [[nodiscard]] std::vector<NamedOutput> outputs() const;
  void check_world_size() const;
  /// Some of a job's ranks replay one by one, or without communication.
  void check_partial() const;
  [[nodiscard]] int run_ranks();
  [[nodiscard]] int sweep();
  void match_ranks();
  [[nodiscard]] replayer::RankRun measure();
  [[nodiscard]] et_schema::Report merged(const replayer::RankRun& run);
  [[nodiscard]] std::string printed(const et_schema::Report& report) const;
  void print(const et_schema::Report& report) const;
  void write_rank_files(const replayer::RankRun& run, const et_schema::Report& report);
  void check_coverage(const et_schema::Report& report) const;
  /// Runs `part` on all ranks; if it throws on some, the lowest of them throws and the others wait
  /// for the end.
  void together(const std::function<void()>& part);
  [[nodiscard]] bool is_alone() const { return backend_ == nullptr || backend_->world_size() == 1; }
  [[nodiscard]] bool is_first() const { return backend_->rank() == 0; }
  /// The position in the benchmark of the program that this process replays.
  [[nodiscard]] int bench_rank() const;

  std::function<void(const et_schema::Error&)> stuck_;
  ReplayArguments arguments_;
  std::unique_ptr<backends::Backend> backend_;
  et_schema::Bench bench_;
  std::string benchmark_hash_;          ///< of `bench_`; empty: not worked out yet
  std::vector<std::string> libraries_;  ///< for the environment
  Progress progress_;
  StopSignals signals_;
  std::string guessed_comms_;  ///< what a report says of simulated times
  Sandbox sandbox_;
  bool has_ended_ = false;  ///< run() came to its end
};

/// Reads what a replay is given: a benchmark, or traces, which are compiled. Throws Error (bad
/// input).
[[nodiscard]] et_schema::Bench load_bench(const ReplayArguments& arguments, Progress& progress);

/// All files that a replay of `ranks` ranks was asked to write.
[[nodiscard]] std::vector<NamedOutput> outputs_of(const ReplayArguments& arguments, int ranks);

/// Where a rank's profile goes on its way to --trace: beside it, if there is its folder.
[[nodiscard]] std::string profile_path(const std::string& path, int rank, int ranks);

/// Writes FILE, or a FILE.R for each of several ranks. `texts`: by rank.
void write_checksums(const std::string& path, const std::vector<std::string>& texts);

/// Writes the rows of all ranks' texts behind the header of `times`.
void write_operator_times(const std::string& path, et_schema::OperatorTimes times,
                          const std::vector<std::string>& texts);

/// Writes the ranks' Kineto profiles: FILE of one alone; of several out.R.json, and FILE with all
/// of them, each with processes of its own.
void write_traces(const std::string& path, const std::vector<std::string>& profiles);

}  // namespace understudy::cli
