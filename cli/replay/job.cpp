#include "job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "cli/common/run_main.h"
#include "cli/compile/compile.h"
#include "et_schema/base/error.h"
#include "generator/matching/matching.h"
#include "replayer/backends/interface/launcher.h"
#include "replayer/dispatch/op_library.h"
#include "replayer/job/replay.h"
#include "replayer/substitutes/mapped.h"
#include "simulated_comms.h"

namespace understudy::cli {
namespace {

using et_schema::Error;

/// Erases the line of progress at the end of a scope, so that an error can follow.
class WipeAtEnd {
 public:
  explicit WipeAtEnd(Progress& progress) : progress_(progress) {}
  WipeAtEnd(const WipeAtEnd&) = delete;
  WipeAtEnd& operator=(const WipeAtEnd&) = delete;
  ~WipeAtEnd() { progress_.clear(); }

 private:
  Progress& progress_;
};

/// Returns the options for compiling a trace: the part of it that is replayed.
generator::GenerateOptions options_of(const replayer::ReplayOptions& options) {
  return {.only = options.only == replayer::Only::kCompute ? generator::Only::kCompute
                  : options.only == replayer::Only::kComms ? generator::Only::kComms
                                                           : generator::Only::kAll,
          .partial = generator::PartialRanks::kOneAlone,
          .allowed_operators = options.allowed_operators};
}

}  // namespace

int ReplayJob::run(const std::function<ReplayArguments()>& read_arguments) {
  const WipeAtEnd wipe(progress_);
  const std::optional<backends::Launch> launch = backends::launched();
  const bool has_company = launch && launch->world_size > 1;
  if (!has_company) {  // a launcher sends this signal to all ranks if one has failed
    signals_.announce("replay");
  }
  std::optional<Error> refused;  // thrown by one rank after all ranks have joined
  try {
    arguments_ = read_arguments();
  } catch (const Error& error) {
    refused = error;
  }
  if (!refused && !arguments_.input.empty()) {
    confine();
  }
  StopSignals::at("joining the other ranks");
  join_launcher();
  StopSignals::at("checking its arguments");
  together([&] {
    if (refused) {
      throw Error(*refused);
    }
    check_rank();
  });
  check_alike();
  if (arguments_.quiet || (!is_alone() && !is_first())) {
    progress_.silence();
  }
  if (arguments_.lists_counters) {
    list_counters();
    has_ended_ = true;
    return kStatusOk;
  }
  StopSignals::at("reading the benchmark");
  together([&] { load(); });
  if (!is_alone()) {
    check_same(benchmark_hash(), "the ranks have read different benchmarks", arguments_.input,
               "Copy the benchmark anew to hosts on which it lies on a disk of their own.");
  }
  try {
    const int status = run_ranks();
    has_ended_ = true;
    return status;
  } catch (const Error& error) {
    throw is_alone() && !arguments_.rank
        ? error
        : error.with_rank(bench_.recorded_rank(static_cast<std::size_t>(bench_rank())));
  }
}

void ReplayJob::end_others(int status) {
  if (!is_alone() && !has_ended_) {
    backend_->abort(status);
  }
}

void ReplayJob::confine() {
  const std::optional<backends::Launch> launch = backends::launched();
  const int ranks = launch ? std::max(launch->world_size, 1) : 1;
  SandboxNeeds needs{.has_ranks = launch && launch->world_size != 1,  // 0: only MPI knows it
                     .has_gpu = arguments_.options.device != "cpu",
                     .starts_programs = !is_one_benchmark({arguments_.input})};
  if (!arguments_.trace_path.empty()) {
    arguments_.options.trace =
        profile_path(arguments_.trace_path, launch ? launch->rank : 0, ranks);
    needs.outputs.push_back(arguments_.options.trace);
  }
  for (const NamedOutput& output : outputs_of(arguments_, ranks)) {
    needs.outputs.push_back(output.path);
  }
  sandbox_.confine_files(arguments_.sandbox, needs);
  arguments_.options.guards_memory = arguments_.sandbox != Sandboxing::kOff;
}

void ReplayJob::join_launcher() {
  const std::optional<backends::Launch> launch = backends::launched();
  if (launch && launch->world_size != 1) {
    if (arguments_.sandbox != Sandboxing::kOff) {
      // Open MPI (4 and 5) reads large messages from the other rank's memory. The sandbox denies
      // this: Open MPI would complain about each message and copy it through shared memory.
      setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", /*overwrite=*/0);
      setenv("OMPI_MCA_smsc", "^cma", /*overwrite=*/0);
    }
    backends::BackendOptions options;
    options.stuck = stuck_;
    options.time_limit_s = arguments_.options.timeout_s.value_or(options.time_limit_s);
    backend_ = backends::join_job(options);
    StopSignals::know(backend_->processes_here());
  }
}

void ReplayJob::check_rank() const {
  check_simulated_comms(arguments_, processes());
  refuse_if(!is_alone() && arguments_.rank,
            "--rank replays one rank alone, but a launcher has started several", "--rank",
            "one process", fmt::format("{} processes", processes()),
            "Leave --rank out to replay all ranks, or start replay without mpirun.");
}

void ReplayJob::check_alike() {
  if (is_alone()) {
    return;
  }
  std::string mine = fmt::format("{}", fmt::join(arguments_.filters, " "));
  for (const auto& [name, value] : settings_of(arguments_)) {
    mine += fmt::format("{}{}: {}", mine.empty() ? "" : ", ", name, value);
  }
  check_same(mine, "the ranks were started with different arguments", "arguments",
             "Give all ranks the same.");
}

void ReplayJob::check_same(const std::string& mine, const char* summary, const std::string& field,
                           const char* hint) {
  const std::string theirs = backend_->all_gather_text(mine).front();
  together(
      [&] { refuse_if(mine != theirs, summary, field, theirs + ", as on rank 0", mine, hint); });
}

/// The hash is computed once; ranks exchange it before the run, and the report holds it.
const std::string& ReplayJob::benchmark_hash() {
  if (benchmark_hash_.empty()) {
    benchmark_hash_ = et_schema::benchmark_hash(bench_);
  }
  return benchmark_hash_;
}

void ReplayJob::load() {
  for (const std::string& path : arguments_.op_libraries) {
    const replayer::OpLibrary library = replayer::load_op_library(path);
    arguments_.options.library_operators.insert(library.operators.begin(), library.operators.end());
    libraries_.push_back(fmt::format("{} operators", library.operators.size()));
  }
  sandbox_.deny_calls();
  use_operator_maps(arguments_.op_maps);
  if (!arguments_.op_maps.empty()) {
    replayer::check_operator_map();
  }
  refuse_outputs();
  progress_.show("reading");
  bench_ = load_benchmark({arguments_.input}, options_of(arguments_.options), {}, progress_).bench;
  sandbox_.deny_programs();
  if (!bench_.op_maps.empty()) {
    replayer::check_operator_map();
  }
  check_world_size();
  if (backend_ == nullptr) {
    backends::BackendOptions options;
    options.rank = bench_.recorded_rank(static_cast<std::size_t>(bench_rank()));
    options.world_size = bench_.recorded_world_size();
    backend_ = backends::make_single_backend(options);
  }
}

void ReplayJob::refuse_outputs() const {
  for (const NamedOutput& output : outputs()) {
    refuse_output(output.path, {arguments_.input}, output.flag);
  }
  refuse_shared_outputs(outputs());
}

std::vector<NamedOutput> ReplayJob::outputs() const {
  return outputs_of(arguments_, processes());
}

void ReplayJob::check_world_size() const {
  const int ranks = bench_.world_size();
  check_partial();
  refuse_if(arguments_.rank && bench_rank() >= ranks, "the benchmark has no such rank", "--rank",
            bench_.partial ? fmt::format("{}", fmt::join(bench_.partial->ranks, ", "))
            : ranks == 1   ? "0, the only one"
                           : fmt::format("0 to {}", ranks - 1),
            std::to_string(arguments_.rank.value_or(0)), "", arguments_.input);
  refuse_if(!arguments_.rank && processes() != ranks,
            "the number of processes is not the benchmark's number of ranks", "world size",
            ranks == 1 ? "1 rank, one process" : fmt::format("{} ranks, one process each", ranks),
            is_alone() ? "1 process" : fmt::format("{} processes", processes()),
            ranks == 1 ? "Start replay without mpirun."
                       : backends::how_to_start(ranks) + ", or --rank K for one rank alone.",
            arguments_.input);
}

void ReplayJob::check_partial() const {
  const int world = processes();
  const bool is_one = bench_.world_size() == 1 || arguments_.rank.has_value();
  if (!bench_.partial || (world == 1 && is_one) ||
      (world == bench_.world_size() && arguments_.options.only == replayer::Only::kCompute)) {
    return;
  }
  throw et_schema::usage_error(
      "the ranks of a partial benchmark do not communicate",
      {.file = arguments_.input,
       .field = "partial",
       .expected = "one process and --rank K, or --only compute on all ranks of the benchmark",
       .got = fmt::format("{} process{} for ranks {} of {}", world, world == 1 ? "" : "es",
                          fmt::join(bench_.partial->ranks, ", "), bench_.partial->world_size),
       .hint = "Replay one rank alone, with --rank, or make a benchmark of all ranks."});
}

void ReplayJob::together(const std::function<void()>& part) {
  std::optional<Error> failure;
  try {
    part();
  } catch (const Error& error) {
    failure = error;
  }
  if (is_alone()) {
    if (failure) {
      throw *failure;
    }
    return;
  }
  const std::vector<std::string> all = backend_->all_gather_text(failure ? "failed" : "");
  for (int rank = 0; rank < backend_->world_size(); ++rank) {
    if (all[static_cast<std::size_t>(rank)].empty()) {
      continue;
    }
    if (rank == backend_->rank()) {
      throw failure->with_rank(rank);
    }
    backend_->barrier();  // waits until the rank with the error ends the job
  }
}

int ReplayJob::bench_rank() const {
  if (arguments_.rank && bench_.partial) {
    const auto found = std::ranges::find(bench_.partial->ranks, *arguments_.rank);
    return static_cast<int>(found - bench_.partial->ranks.begin());
  }
  if (arguments_.rank) {
    return *arguments_.rank;
  }
  return backend_ == nullptr ? 0 : backend_->rank();
}

int ReplayJob::run_ranks() {
  match_ranks();
  const replayer::RankRun run = measure();
  const et_schema::Report report = merged(run);
  if (is_first()) {
    print(report);
  }
  write_rank_files(run, report);
  if (!report.total.complete) {
    return status_of_signal(report.total.measurement.ended_by == "SIGINT" ? SIGINT : SIGTERM);
  }
  if (is_first()) {
    check_coverage(report);
  }
  return kStatusOk;
}

/// All ranks have read the same benchmark: rank 0 matches it for all, and sends each its order.
void ReplayJob::match_ranks() {
  if (!arguments_.comm_times.empty()) {
    CommTimes times = comm_times(bench_, bench_rank(), arguments_.comm_times);
    if (times.guessed > 0) {
      guessed_comms_ = fmt::format(" ({} of {} calls by the others' rate, or by 10 GB/s)",
                                   times.guessed, times.ns.size());
    }
    arguments_.options.comm_times_ns = std::move(times.ns);
  }
  if (is_alone() || arguments_.options.only == replayer::Only::kCompute) {
    return;
  }
  progress_.show("matching");
  StopSignals::at("matching");
  std::vector<std::string> orders(static_cast<std::size_t>(backend_->world_size()));
  together([&] {
    if (is_first()) {
      std::ranges::transform(matching::match_programs(bench_.programs, bench_.groups),
                             orders.begin(),
                             [](const auto& order) { return matching::to_text(order); });
    }
  });
  arguments_.options.comm_order = matching::parse_order(backend_->scatter_text(orders));
}

}  // namespace understudy::cli
