#include "arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "cli/compile/compile.h"
#include "et_schema/base/input_limit.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    R"(  replay bench.et                            one rank, 20 iterations or 30 seconds
  mpirun -np 8 replay bench.et               all ranks of a benchmark of eight
  torchrun --no-python --nproc-per-node 8 replay bench.et    the same without MPI
  replay bench.et --rank 3 --comms recorded  rank 3, as if the others took part as they did
  replay bench.et --only compute             without what communication costs
  replay bench.et --report out.json          the report as a file, beside the text
  replay bench.et --format html > run.html   the report as a page, for a browser
  replay bench.et --until 1%                 until the median is known to ± 1 %
  replay bench.et --op-library LIB.so        with custom operators)";

constexpr const char* kMoreStatuses =
    "  130 and 143  SIGINT and SIGTERM: the first ends the measurement, and the report holds\n"
    "      what was measured, marked as not complete; the second ends it at once\n";

constexpr int kMostIterations = 1'000'000'000;
constexpr double kMostSeconds = 1e6;
constexpr double kLeastTimeoutSeconds = 1;
constexpr double kLeastSustainedS = 0.1;
constexpr double kMostSustainedS = 3600;
constexpr int kMostThreads = 4096;
constexpr int kMostRanks = 1'000'000;
constexpr double kMostPercent = 1e6;
constexpr double kWidestInterval = 100;  // per cent of the median

bool read_comms(const std::string& text, ReplayArguments& arguments) {
  const bool is_path = text == "nccl" || text == "host";
  if (is_path) {
    arguments.options.comms =
        text == "nccl" ? replayer::CommsPath::kNccl : replayer::CommsPath::kHost;
  } else {
    arguments.comm_times = text;
  }
  return is_path || text == "recorded" || text.ends_with(".json") || text.ends_with(".json.gz");
}

void add_run_options(CommandLine& line, ReplayArguments& arguments) {
  replayer::ReplayOptions& options = arguments.options;
  line.add("--device DEVICE", options.device,
           "Where to run: cpu, cuda (under a launcher the GPU with the rank's number on its host) "
           "or cuda:N. A benchmark recorded on CPUs alone moves there as a whole");
  line.add_text(
      "--comms PATH", [&](const std::string& text) { return read_comms(text, arguments); },
      "none of nccl, host, recorded, FILE.json, FILE.json.gz",
      "How tensors of a GPU travel between ranks: nccl (from GPU to GPU) or host (through host "
      "memory). Default: nccl; host where ranks share a GPU, whose times are not comparable by "
      "nccl. Of one rank alone, on a CPU: recorded or a platform file, which simulates the others: "
      "each call takes the time that it took, or that the platform's models predict");
  line.add_choice("--streams STREAMS",
                  {{"one", replayer::Streams::kOne},
                   {"recorded", replayer::Streams::kRecorded},
                   {"graph", replayer::Streams::kGraph}},
                  options.streams,
                  "How a GPU gets operators: on one stream, on the recorded ones (the original's, "
                  "from the linked profile; what one writes for another is waited for), or an "
                  "iteration as CUDA graphs: one, or several where an operator prevents it, which "
                  "the report names. Default: graph if the device times of the benchmark are of "
                  "graphs; recorded where communications had streams of their own; else one");
  line.add_number("--threads N", options.threads, 0, kMostThreads,
                  "Threads of an operator; 0, the default: this host's cores, shared by its ranks");
  line.add("--seed N", options.seed, "Seed of the tensors' content (default: 0)");
  line.add_flag("--continue-on-error", options.continue_on_error,
                "Count an operator that fails as dropped, and continue");
}

void add_pace_options(CommandLine& line, replayer::ReplayOptions& options) {
  line.add_choice("--pace PACE",
                  {{"asap", replayer::Pace::kAsap}, {"recorded", replayer::Pace::kRecorded}},
                  options.pace,
                  "When operators are issued: asap, or recorded (with the original's gaps between "
                  "them)");
  line.add_flag(
      "--no-restore", [&options] { options.restores = false; },
      "Never give inputs and weights their first values again between iterations: shows whether "
      "the step drifts, to NaN for instance");
  line.add_text(
      "--slow CLASS:PERCENT",
      [&options](const std::string& text) {
        const std::size_t colon = std::min(text.find(':'), text.size() - 1);
        const double percent = parse_number(text.substr(colon + 1)).value_or(0);
        options.slow = replayer::PlantedSlowdown{text.substr(0, colon), percent};
        return percent > 0 && percent <= kMostPercent;
      },
      "not CLASS:PERCENT, as matmul:3",
      "Slow down the operators of a class: shows what compare would find on this machine");
}

void add_measurement_options(CommandLine& line, replayer::ReplayOptions& options) {
  line.begin(FlagGroup::kMeasurement);
  line.add_number("--warmup N", options.warmup, 0, kMostIterations,
                  "Iterations before the measured ones");
  line.add_number(
      "--iterations N", options.iterations, 1, kMostIterations,
      "Measured iterations at most (default: 20; no limit if only --seconds or --until is given)");
  line.add_number("--seconds S", options.seconds, 0.001, kMostSeconds,
                  "Seconds of measured iterations at most (default: 30; no limit if only "
                  "--iterations is given; 120 with --until)");
  line.add_text(
      "--until X%",
      [&options](const std::string& text) {
        options.until_percent = parse_percent(text, kWidestInterval);
        return options.until_percent.has_value();
      },
      "no percentage above 0, as 1 or 0.5%",
      "Measure until the 95 % interval of the median is within ± X %, at most --seconds (then 120 "
      "by default) or --iterations");
  line.add_number("--passes N", options.passes, 1, kMostIterations,
                  "Timing passes after the measured iterations, in which each operator is timed by "
                  "itself (default: as many as iterations, for no longer than they took; from 20 "
                  "iterations on up to 200 passes, for 2 s or as long as the iterations took)");
  line.add("--counters SET", options.counters,
           "Count what processors and devices do, in passes after all that is timed: names at "
           "commas, default (a few of each source), or list (prints the sources and their names)")
      .splits_at_commas();
  line.add_number("--timeout S", options.timeout_s, kLeastTimeoutSeconds, kMostSeconds,
                  "End the job when a rank that others wait for has made no progress for this many "
                  "seconds (default: 300 until the first iteration is done, then 20 times the "
                  "slowest rank's first iteration, at least 60)");
  line.add_flag("--require-steady-clocks", options.require_steady_clocks,
                "Fail if a GPU held its clocks down, or moved them, while it was measured");
}

void add_trust_options(CommandLine& line, ReplayArguments& arguments) {
  replayer::ReplayOptions& options = arguments.options;
  line.begin(FlagGroup::kTrust);
  line.add_number("--min-coverage X", arguments.min_coverage, 0.0, 1.0,
                  "Fail if less than this share of the operators is replayed");
  line.add_text(
      "--memory-limit BYTES",
      [&options](const std::string& text) {
        options.memory_limit_bytes = et_schema::parse_bytes(text);
        return options.memory_limit_bytes.has_value();
      },
      "no number of bytes, as 8G, 512M or 4096",
      "Refuse a benchmark that needs more memory, before allocating any: 8G, 512M, or 4096");
  add_allow_option(line, options.allowed_operators);
  line.add_choice(
      "--sandbox WHEN",
      {{"auto", Sandboxing::kAuto}, {"on", Sandboxing::kOn}, {"off", Sandboxing::kOff}},
      arguments.sandbox,
      "Give up writing files but the outputs, starting programs and opening sockets before the "
      "benchmark is read: auto (as far as the kernel can), on (fail if it cannot) or off");
}

}  // namespace

ReplayArguments read_replay_arguments(int argc, char** argv) {
  ReplayArguments arguments;
  CommandLine line(
      {.name = "replay",
       .description = "Runs a benchmark or a trace, and reports how long it took and how much of "
                      "the original was replayed.",
       .examples = kExamples,
       .success = "the benchmark ran",
       .failure =
           "the run failed, or a check: --min-coverage, --memory-limit, --require-steady-clocks",
       .mismatch = "a world size, benchmark or library that does not match",
       .more_statuses = kMoreStatuses,
       .common = {"--op-library", "--rank", "--only", "--device", "--iterations", "--until",
                  "--report", "--trace", "--format", "--min-coverage"}});
  line.add("BENCH", arguments.input,
           "A bench.et, a trace (plain or gzipped), an archive or a folder of traces");
  line.add("--op-library LIB", arguments.op_libraries,
           "Custom operators: a library, a folder of them, or a file of rows (.json) that say what "
           "they mean in terms of ATen's; can be repeated")
      .repeats();
  line.begin(FlagGroup::kRuns);
  line.add_number("--rank K", arguments.rank, 0, kMostRanks,
                  "Replay this rank of the benchmark alone");
  replayer::Only& only = arguments.options.only;
  line.add_choice("--only PART",
                  {{"compute", replayer::Only::kCompute}, {"comms", replayer::Only::kComms}}, only,
                  "Replay only this part: compute or comms");
  add_run_options(line, arguments);
  add_pace_options(line, arguments.options);
  add_measurement_options(line, arguments.options);
  line.begin(FlagGroup::kOutput);
  line.add("--report FILE", arguments.report_path, "Write the report to this file, as JSON");
  line.add_flag("--anonymous", arguments.anonymous,
                "Leave the hosts' names and the kernel's release out of the report");
  line.add("--operator-times FILE", arguments.operator_times_path,
           "Write the times of single instructions to this file, a JSON line each");
  line.add_flag("--cold", arguments.options.cold,
                "In timing passes no tensor of an operator is in a cache; it is then called again, "
                "warm. A row of --operator-times for each");
  line.add_number("--sustained S", arguments.options.sustained_s, kLeastSustainedS, kMostSustainedS,
                  "Then call each operator back to back for so many seconds, as warm and at the "
                  "power of a step that goes on. A row of --operator-times for each, beside those "
                  "of the bursts");
  line.add("--trace FILE", arguments.trace_path,
           "Write Kineto's profile of a step to this file, after what is measured; with several "
           "ranks, rank R's is beside it (out.R.json), and this one has them all");
  line.add("--checksums FILE", arguments.checksums_path,
           "Write a checksum of each operator's results in a first iteration to this file; with "
           "several ranks, rank R writes FILE.R");
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "no text on standard output where --report takes the result");
  add_trust_options(line, arguments);
  line.parse(argc, argv);
  const auto maps = std::ranges::stable_partition(
      arguments.op_libraries, [](const std::string& path) { return !path.ends_with(".json"); });
  arguments.op_maps.assign(maps.begin(), maps.end());
  arguments.op_libraries.erase(maps.begin(), maps.end());
  arguments.lists_counters = arguments.options.counters == std::vector<std::string>{"list"};
  refuse_if(!arguments.lists_counters && arguments.input.empty(), "BENCH is required", "", "", "",
            "replay --help has examples");
  for (const auto& [flag, is_asked] : {std::pair("--cold", arguments.options.cold),
                                       {"--sustained", arguments.options.sustained_s > 0}}) {
    refuse_if(is_asked && arguments.operator_times_path.empty(),
              fmt::format("{} is for the times of single operators", flag), flag,
              "--operator-times FILE", "nothing", "replay --help-all has both");
  }
  if (only != replayer::Only::kAll) {
    arguments.filters.emplace_back(only == replayer::Only::kCompute ? "--only compute"
                                                                    : "--only comms");
  }
  arguments.options.checksums = !arguments.checksums_path.empty();
  arguments.options.operator_times = !arguments.operator_times_path.empty();
  return arguments;
}

std::map<std::string, std::string> settings_of(const ReplayArguments& arguments) {
  std::map<std::string, std::string> settings = replayer::settings_of(arguments.options);
  if (arguments.rank) {
    settings["rank"] = std::to_string(*arguments.rank);
  }
  for (const std::string& path : arguments.op_maps) {
    std::string& names = settings["op_map"];
    names += (names.empty() ? "" : ",") + std::filesystem::path(path).filename().string();
  }
  return settings;
}

}  // namespace understudy::cli
