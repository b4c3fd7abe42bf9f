
#include <filesystem>
#include <optional>

#include "cli/common/output.h"
#include "cli/common/own_program.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "commands.h"
#include "et_schema/base/error.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/output_file.h"
#include "et_schema/base/processor.h"
#include "fleet/analysis/change_points.h"
#include "fleet/database/schema.h"
#include "fleet/nightly/night_run.h"
#include "fleet/nightly/worker.h"
#include "fleet/process/node.h"
#include "fleet/process/run_program.h"
#include "fleet/queue/queue.h"

namespace understudy::cli {
namespace {

constexpr const char* kNightlyExamples =
    R"(  understudy fleet nightly fleet.db --store store/ --jobs 2
                                                                 make, replay, compare, sum up
  understudy fleet nightly fleet.db --generate-only              no replays
  understudy fleet nightly fleet.db --replay-flags '--threads 1' --platform one-thread
                                                                 a platform that you name
  understudy fleet nightly fleet.db --engine slurm --jobs 40 --slurm-flags '--partition=night'
                                                                 the same by arrays of Slurm jobs
  understudy fleet nightly fleet.db --format json -o night.json  the summary for a program
A cron line and a systemd timer are in docs/fleet.md.)";

constexpr const char* kWorkerExamples =
    R"(  understudy fleet worker postgresql://db.example/fleet --store /shared/store
                                                  help the open night from another machine
  understudy fleet worker fleet.db --replay-flags '--threads 1'
                                                  as `understudy fleet nightly` was called
  understudy fleet worker fleet.db --only replay  only replay, on a node reserved for timing
  mpirun -np 4 understudy fleet worker fleet.db   four workers)";

struct NightlyArguments {
  fleet::NightOptions night;
  std::string engine = "local";
  SlurmOptions slurm;
  std::string output;
  std::string only;
  double slower_by_percent = 3;
  std::optional<int> jobs;
  Format format = Format::kText;
  bool quiet = false;
};

void add_words_option(CommandLine& line, const std::string& name, std::vector<std::string>& words,
                      const std::string& text) {
  const auto read = [&words](const std::string& value) {
    words = words_of(value);
    return true;
  };
  line.add_text(name + " TEXT", read, "", text);
}

/// Adds the options that nights and workers share.
void add_worker_options(CommandLine& line, NightlyArguments& arguments) {
  fleet::NightOptions& night = arguments.night;
  add_database_option(line, night.url);
  line.add("--store DIR", night.store,
           "Folder for benchmarks and reports (default: the remembered one)");
  line.add("--platform NAME", night.platform,
           "Name of this kind of node, to file results under (default: its processor and cores)");
  line.add_quiet(arguments.quiet, "no text on standard output");
  line.begin(FlagGroup::kRuns);
  line.add_number("--jobs N", arguments.jobs, 1, 4096,
                  "Benchmarks generated at a time (default: this node's cores)");
  line.add_number("--lease S", night.lease_s, 0.5, 86400.0,
                  "Seconds without a sign of life after which another worker takes over");
}

/// Adds the flags of replays. They are never read from the database, which could hold flags of a
/// stranger.
void add_replay_options(CommandLine& line, NightlyArguments& arguments) {
  fleet::ReplayOptions& replay = arguments.night.replay;
  add_words_option(line, "--replay-flags", replay.flags, "More flags for replay");
  add_words_option(line, "--launcher", replay.launcher,
                   "Command that starts several ranks (default: mpirun -np {ranks})");
  line.add_flag("--oversubscribe", replay.oversubscribes,
                "Also replay benchmarks of more ranks than this node has cores");
  line.begin(FlagGroup::kMeasurement);
  line.add_number("--iterations N", replay.iterations, 1, 1'000'000,
                  "Iterations of each replay, at most (default: replay's)");
  line.add_number("--seconds S", replay.seconds, 0.001, 1e6,
                  "Seconds of iterations of each replay, at most (default: replay's)");
  line.add_number("--timeout S", replay.timeout_s, 1.0, 1e6, "Seconds of one replay, at most");
  line.add_number("--slower-by PERCENT", arguments.slower_by_percent, 0.0, 1000.0,
                  "Report no slowdown below this, however certain");
}

void complete(NightlyArguments& arguments) {
  fleet::NightOptions& night = arguments.night;
  night.replay.least_change = arguments.slower_by_percent / et_schema::kPercent;
  night.replay.generate_only |= arguments.only == fleet::kGenerateWork;
  if (night.platform.empty()) {
    night.platform = fleet::default_platform();
  }
  night.jobs = static_cast<std::size_t>(arguments.jobs.value_or(et_schema::usable_cores()));
  const auto connection = fleet::open_fleet(night.url, fleet::Opening::kExisting);
  night.store = open_store(*connection, night.store).folder().string();
  night.tools = find_tools(!night.replay.generate_only);
}

/// Throws if `replay` rejects the flags, which would break every job. Runs it once with a file that
/// does not exist.
void check_replay_flags(const fleet::NightOptions& night) {
  if (night.replay.flags.empty() || night.tools.replay.empty()) {
    return;
  }
  std::vector<std::string> words = {night.tools.replay, night.store + "/no benchmark", "--quiet"};
  words.insert(words.end(), night.replay.flags.begin(), night.replay.flags.end());
  const fleet::ProgramEnd end =
      fleet::run_program({.words = words, .variables = {"UNDERSTUDY_PROGRESS=off"}});
  constexpr int kUsage = 2;
  refuse_if(end.status == kUsage, "flags that replay does not take", "--replay-flags",
            "flags of replay", fleet::in_one_line(end.errors));
}

NightlyArguments read_nightly(int argc, char** argv) {
  NightlyArguments arguments;
  fleet::NightOptions& night = arguments.night;
  CommandLine line(
      {.name = "understudy fleet nightly",
       .description =
           "One night of a fleet: finds changed traces, rebuilds their benchmarks, replays every "
           "benchmark alone on this node, compares with earlier nights and sums up. If it is "
           "killed, the next call continues; two calls at once share one night.",
       .examples = kNightlyExamples,
       .success = "nothing broke, nothing got slower",
       .failure = "something broke or got slower, or the night could not be finished",
       .common = {"--store", "--platform", "--jobs", "--generate-only", "--replay-flags",
                  "--launcher", "--iterations", "--slower-by", "--output", "--format"}});
  add_worker_options(line, arguments);
  line.add_flag("--generate-only", night.replay.generate_only, "Make benchmarks, replay none");
  line.add_flag("--regenerate", night.regenerates,
                "Rebuild all benchmarks, even if their traces' sizes and times have not changed");
  line.add("--engine ENGINE", arguments.engine, "Where the work is done: local or slurm")
      .is_one_of({"local", "slurm"});
  add_words_option(line, "--slurm-flags", arguments.slurm.flags, "More flags for sbatch");
  line.add_number("--replay-nodes N", arguments.slurm.replay_nodes, 1, 100'000,
                  "Number of Slurm nodes that replay");
  add_replay_options(line, arguments);
  line.add_number("--drift-above D", night.drift_above, 0.0, 1.0,
                  "Distance at which a job has drifted, 0 to 1");
  line.add("--otava PYTHON", night.otava, "Python with apache-otava, for change points");
  line.begin(FlagGroup::kOutput);
  line.add("-o,--output FILE", arguments.output, "Write the summary to this file");
  line.add_format(arguments.format);
  line.parse(argc, argv);
  if (night.otava.empty()) {
    night.otava = fleet::find_otava();
  }
  complete(arguments);
  if (arguments.engine == "local") {
    check_replay_flags(night);
  }
  return arguments;
}

NightlyArguments read_worker(int argc, char** argv) {
  NightlyArguments arguments;
  CommandLine line(
      {.name = "understudy fleet worker",
       .description = "Works on the open night until nothing is left for this platform. Any number "
                      "of workers, on any machines, can share one night.",
       .examples = kWorkerExamples,
       .success = "nothing is left to do, or no night is open",
       .failure = "this worker failed; others take over its work"});
  add_worker_options(line, arguments);
  line.add("--only KIND", arguments.only, "Only make benchmarks, or only replay them")
      .is_one_of({"generate", "replay"});
  add_replay_options(line, arguments);
  line.parse(argc, argv);
  complete(arguments);
  check_replay_flags(arguments.night);
  return arguments;
}

fleet::OnProgress shown_by(Progress& progress) {
  return [&progress](const fleet::NightProgress& night) {
    progress.show({.phase = night.phase,
                   .done = night.done,
                   .total = night.total > 0 ? std::optional(night.total) : std::nullopt});
  };
}

int fleet_nightly(int argc, char** argv) {
  const NightlyArguments arguments = read_nightly(argc, argv);
  const std::string logs = slurm_logs(arguments.night);
  const std::string for_slurm = "waiting for Slurm, whose jobs write to " + logs;
  Progress progress(arguments.quiet);
  std::string summary;
  if (arguments.engine == "slurm") {
    progress.tick();
    summary = fleet::run_night_elsewhere(arguments.night, [&] {
      std::filesystem::create_directories(logs);
      progress.show(for_slurm);
      run_on_slurm(slurm_commands(arguments.night, arguments.slurm, sibling("fleet")));
    });
  } else {
    summary = fleet::run_night(arguments.night, shown_by(progress));
  }
  progress.clear();
  const auto night = nlohmann::ordered_json::parse(summary);
  const std::string text = pages::written(night_page(night), arguments.format);
  if (!arguments.output.empty()) {
    et_schema::write_file_atomically(arguments.output, text);
  } else if (!arguments.quiet) {
    print_output(text);
  }
  return has_alarm(night) ? static_cast<int>(et_schema::ErrorKind::kFailed) : kStatusOk;
}

const Verb kNightly("fleet nightly", "Rebuilds what changed, replays, compares, sums up",
                    on_database<fleet_nightly>);

int fleet_worker(int argc, char** argv) {
  const NightlyArguments arguments = read_worker(argc, argv);
  Progress progress(arguments.quiet);
  std::vector<std::string> kinds = {fleet::kGenerateWork, fleet::kReplayWork};
  if (!arguments.only.empty()) {
    kinds = {arguments.only};
  }
  const bool was_open = fleet::run_worker(arguments.night, kinds, shown_by(progress));
  progress.clear();
  if (!arguments.quiet) {
    print_output(was_open ? "Nothing is left to do here\n" : "No night is open\n");
  }
  return kStatusOk;
}

const Verb kWorker("fleet worker", "Works on the open night, from this machine",
                   on_database<fleet_worker>);

}  // namespace
}  // namespace understudy::cli
