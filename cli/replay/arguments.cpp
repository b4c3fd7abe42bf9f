#include "replay/arguments.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

#include "compile/compile.h"
#include "et_schema/support/input_limit.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    "  replay bench.et                            one rank, 20 iterations or 30 seconds\n"
    "  mpirun -np 8 replay bench.et               all ranks of a benchmark of eight\n"
    "  replay bench.et --rank 3                   rank 3 alone, communicating with itself\n"
    "  replay et.json.gz --iterations 100         a trace, compiled on the fly\n"
    "  replay bench.et --only compute             without what communication costs\n"
    "  replay bench.et --pace recorded            with the gaps of the original's host\n"
    "  replay bench.et --report out.json          the report as a file, beside the text\n"
    "  replay bench.et --format html > run.html   the report as a page, for a browser\n"
    "  replay bench.et --min-coverage 0.99        status 1 if less of the trace is replayed\n"
    "  replay bench.et --until 1%                 until the median is known to ± 1 %\n"
    "  replay bench.et --op-library LIB.so        with custom operators\n"
    "  replay bench.et --require-signature K.pub  refused unless K's owner signed it\n";

constexpr const char* kMoreStatuses =
    "  130 and 143  SIGINT and SIGTERM: the first ends the measurement, and the report holds\n"
    "      what was measured, marked as not complete; the second ends it at once\n";

/// A range that --help does not spell out.
template <typename Number>
CLI::Validator between(Number least, Number most) {
  return CLI::Range(least, most).description("");
}

constexpr int kMostIterations = 1'000'000'000;
constexpr double kMostSeconds = 1e6;
constexpr double kLeastTimeoutSeconds = 1;
constexpr int kMostThreads = 4096;
constexpr int kMostRanks = 1'000'000;
constexpr double kMostPercent = 1e6;
constexpr double kWidestInterval = 100;  // per cent of the median

void add_run_options(CLI::App& app, replayer::ReplayOptions& options) {
  app.add_option("--device", options.device,
                 "Where to run: cpu, cuda (under a launcher the GPU with the rank's number on its "
                 "host) or cuda:N")
      ->type_name("DEVICE")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--place",
         [&options](const std::string& text) { options.place = replayer::parse_place(text); },
         "Tensors that were recorded on a CPU: recorded (they stay on the CPU) or device (they "
         "move "
         "to --device). Default: recorded; a benchmark recorded on CPUs alone moves as a whole")
      ->check(CLI::IsMember({"recorded", "device"}).description(""))
      ->type_name("PLACE");
  app.add_option_function<std::string>(
         "--comms",
         [&options](const std::string& text) { options.comms = replayer::parse_comms_path(text); },
         "How tensors of a GPU travel between ranks: nccl (from GPU to GPU) or host (through host "
         "memory and MPI). Default: nccl; host where ranks share a GPU")
      ->check(CLI::IsMember({"nccl", "host"}).description(""))
      ->type_name("PATH");
  app.add_option_function<std::string>(
         "--streams",
         [&options](const std::string& text) { options.streams = replayer::parse_streams(text); },
         "Streams of a GPU that operators run on: one, or recorded (the original's, from the "
         "linked profile; what one writes for another is waited for). Default: recorded "
         "where communications had streams of their own, else one")
      ->check(CLI::IsMember({"one", "recorded"}).description(""))
      ->type_name("STREAMS");
  app.add_option("--warmup", options.warmup, "Iterations before the measured ones")
      ->check(between(0, kMostIterations))
      ->type_name("N")
      ->capture_default_str();
  app.add_option(
         "--iterations", options.iterations,
         "Measured iterations at most (default: 20; no limit if only --seconds or --until is "
         "given)")
      ->check(between(1, kMostIterations))
      ->type_name("N");
  app.add_option(
         "--seconds", options.seconds,
         "Seconds of measured iterations at most (default: 30; no limit if only --iterations is "
         "given; 120 with --until)")
      ->check(between(0.001, kMostSeconds))
      ->type_name("S");
  app.add_option("--passes", options.passes,
                 "Timing passes after the measured iterations, in which each operator is timed by "
                 "itself (default: as many as iterations, for no longer than they took; from 20 "
                 "iterations on up to 200 passes, for 2 s or as long as the iterations took)")
      ->check(between(1, kMostIterations))
      ->type_name("N");
  app.add_option("--timeout", options.timeout_s,
                 "End the job when a rank that others wait for has made no progress for this many "
                 "seconds (default: 300 until the first iteration is done, then 20 times the "
                 "slowest rank's first iteration, at least 60)")
      ->check(between(kLeastTimeoutSeconds, kMostSeconds))
      ->type_name("S");
  app.add_option("--threads", options.threads,
                 "Threads of an operator; 0: this host's cores, shared by its ranks")
      ->check(between(0, kMostThreads))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of the tensors' content")
      ->type_name("N")
      ->capture_default_str();
  app.add_flag(
      "--leaves", options.leaves,
      "Replay the lowest recorded operators in place of those that called them (decomposed; "
      "less portable)");
  app.add_flag("--continue-on-error", options.continue_on_error,
               "Count an operator that fails as dropped, and continue");
}

void add_only_option(CLI::App& app, ReplayArguments& arguments) {
  static const std::map<std::string, replayer::Only> kNames = {
      {"compute", replayer::Only::kCompute}, {"comms", replayer::Only::kComms}};
  app.add_option_function<std::string>(
         "--only",
         [&arguments](const std::string& name) {
           arguments.options.only = kNames.at(name);
           arguments.filters.push_back("--only " + name);
         },
         "Replay only this part: compute or comms")
      ->check(CLI::IsMember({"compute", "comms"}))
      ->type_name("PART");
}

void add_pace_option(CLI::App& app, replayer::ReplayOptions& options) {
  app.add_option_function<std::string>(
         "--pace",
         [&options](const std::string& text) {
           const std::optional<replayer::Pace> pace = replayer::parse_pace(text);
           if (!pace) {
             throw CLI::ValidationError(
                 "--pace",
                 fmt::format("{} is none of asap, recorded, host, scaled:F (F from 0)", text));
           }
           options.pace = *pace;
         },
         "When operators are issued: asap, recorded (with the original's gaps between them), host "
         "(those at this host's speed) or scaled:F (those times F)")
      ->type_name("PACE")
      ->default_str("asap");
}

void add_faults_option(CLI::App& app, replayer::ReplayOptions& options) {
  app.add_option_function<std::string>(
         "--page-faults",
         [&options](const std::string& text) {
           std::uint64_t faults = 0;
           if (text == "recorded") {
             options.page_faults = replayer::ReplayOptions::AsRecorded{};
           } else if (text == "any") {
             options.page_faults = replayer::ReplayOptions::AsTheyCome{};
           } else if (text.find_first_not_of("0123456789") == std::string::npos &&
                      CLI::detail::lexical_cast(text, faults)) {
             options.page_faults = faults;
           } else {
             throw CLI::ValidationError("--page-faults",
                                        fmt::format("{} is none of recorded, any, a number", text));
           }
         },
         "Page faults of an iteration: recorded (as many as the original's steps had: the profiled "
         "ones with --pace asap, else the unprofiled ones), any (leave it to malloc) or a number")
      ->type_name("N")
      ->default_str("recorded");
}

void add_memory_option(CLI::App& app, replayer::ReplayOptions& options) {
  app.add_option_function<std::string>(
         "--memory-limit",
         [&options](const std::string& text) {
           options.memory_limit_bytes = et_schema::parse_bytes(text);
           if (!options.memory_limit_bytes) {
             throw CLI::ValidationError(
                 "--memory-limit",
                 fmt::format("{} is no number of bytes, as 8G, 512M or 4096", text));
           }
         },
         "Refuse a benchmark that needs more memory, before allocating any: 8G, 512M, or a number "
         "of bytes")
      ->type_name("BYTES");
  app.add_flag("--require-steady-clocks", options.require_steady_clocks,
               "Fail if a GPU held its clocks down, or moved them, while it was measured");
}

void add_until_option(CLI::App& app, replayer::ReplayOptions& options) {
  app.add_option_function<std::string>(
         "--until",
         [&options](const std::string& text) {
           const std::string number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
           double percent = 0;
           if (!CLI::detail::lexical_cast(number, percent) ||
               !(percent > 0 && percent <= kWidestInterval)) {
             throw CLI::ValidationError(
                 "--until", fmt::format("{} is no percentage above 0, as 1 or 0.5%", text));
           }
           options.until_percent = percent;
         },
         "Measure until the 95 % interval of the median is within ± X %, at most --seconds (then "
         "120 by default) or --iterations")
      ->type_name("X%");
}

void add_trust_options(CLI::App& app, replayer::ReplayOptions& options) {
  add_allow_option(app, options.allowed_operators);
  app.add_option_function<std::string>(
         "--sandbox",
         [&options](const std::string& text) { options.sandbox = *replayer::parse_sandbox(text); },
         "Give up writing files but the outputs, starting programs and opening sockets before "
         "operators run: auto (as far as the kernel can), on (fail if it cannot) or off")
      ->check(CLI::IsMember({"auto", "on", "off"}).description(""))
      ->type_name("WHEN")
      ->default_str("auto");
}

void add_slow_option(CLI::App& app, replayer::ReplayOptions& options) {
  app.add_option_function<std::string>(
         "--slow",
         [&options](const std::string& text) {
           const std::size_t colon = text.find(':');
           const std::string percent = colon == std::string::npos ? "" : text.substr(colon + 1);
           double value = 0;
           if (!CLI::detail::lexical_cast(percent, value) ||
               !(value > 0 && value <= kMostPercent)) {
             throw CLI::ValidationError("--slow",
                                        fmt::format("{} is not CLASS:PERCENT, as matmul:3", text));
           }
           options.slow = replayer::PlantedSlowdown{text.substr(0, colon), value};
         },
         "Slow down the operators of a class, to try compare")
      ->type_name("CLASS:PERCENT");
}

}  // namespace

ReplayArguments read_replay_arguments(int argc, char** argv) {
  ReplayArguments arguments;
  const auto app = make_app({.name = "replay",
                             .description = "Runs a benchmark or a trace, and reports how long it "
                                            "took and how much of the original was replayed.",
                             .examples = kExamples,
                             .failure = "the run failed, or a check: --min-coverage, "
                                        "--memory-limit, --require-steady-clocks",
                             .more_statuses = kMoreStatuses});
  app->add_option("BENCH", arguments.input,
                  "A bench.et, a trace (plain or gzipped), an archive or a folder of traces")
      ->required();
  add_run_options(*app, arguments.options);
  add_pace_option(*app, arguments.options);
  add_faults_option(*app, arguments.options);
  add_memory_option(*app, arguments.options);
  add_slow_option(*app, arguments.options);
  add_until_option(*app, arguments.options);
  app->add_flag_callback(
      "--no-restore", [&arguments] { arguments.options.restores = false; },
      "Never reset inputs and weights to their initial values between iterations");
  add_only_option(*app, arguments);
  app->add_option("--rank", arguments.rank, "Replay this rank of the benchmark alone")
      ->check(between(0, kMostRanks))
      ->type_name("K");
  app->add_option("--min-coverage", arguments.min_coverage,
                  "Fail if less than this share of the operators is replayed")
      ->check(between(0.0, 1.0))
      ->type_name("X");
  app->add_option("--op-library", arguments.op_libraries,
                  "Custom operators: a library, or a folder of them; can be repeated")
      ->type_name("LIB")
      ->allow_extra_args(false);
  add_map_option(*app, arguments.op_maps);
  arguments.options.sandbox = replayer::Sandbox::kAuto;
  add_trust_options(*app, arguments.options);
  app->add_option("--operator-times", arguments.operator_times_path,
                  "Write the times of single instructions to this file, a JSON line each")
      ->type_name("FILE");
  app->add_option("--checksums", arguments.checksums_path,
                  "Write a checksum of each operator's results in a first iteration to this file; "
                  "with several ranks, rank R writes FILE.R")
      ->type_name("FILE");
  app->add_option("--require-signature", arguments.signer_path,
                  "Refuse a benchmark unless the owner of this public key signed it as it is")
      ->type_name("PUBKEY");
  app->add_option("--report", arguments.report_path, "Write the report to this file, as JSON")
      ->type_name("FILE");
  add_format_option(*app, arguments.format, true);
  add_quiet_option(*app, arguments.quiet,
                   "no text on standard output where --report takes the result");
  parse_arguments(*app, argc, argv);
  arguments.options.checksums = !arguments.checksums_path.empty();
  arguments.options.operator_times = !arguments.operator_times_path.empty();
  return arguments;
}

}  // namespace understudy::cli
