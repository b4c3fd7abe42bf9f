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
    "  torchrun --no-python --nproc-per-node 8 replay bench.et    the same without MPI\n"
    "  replay bench.et --rank 3                   rank 3 alone, communicating with itself\n"
    "  replay et.json.gz --iterations 100         a trace, compiled on the fly\n"
    "  replay bench.et --only compute             without what communication costs\n"
    "  replay bench.et --pace recorded            with the gaps of the original's host\n"
    "  replay bench.et --report out.json          the report as a file, beside the text\n"
    "  replay bench.et --trace out.json           a step's timeline, for Perfetto and HTA\n"
    "  replay bench.et --format html > run.html   the report as a page, for a browser\n"
    "  replay bench.et --min-coverage 0.99        status 1 if less of the trace is replayed\n"
    "  replay bench.et --until 1%                 until the median is known to ± 1 %\n"
    "  replay bench.et --op-library LIB.so        with custom operators\n"
    "  replay bench.et --require-signature K.pub  refused unless K's owner signed it\n";

constexpr const char* kMoreStatuses =
    "  130 and 143  SIGINT and SIGTERM: the first ends the measurement, and the report holds\n"
    "      what was measured, marked as not complete; the second ends it at once\n";

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
  add_choice_option(
      app, "--place", {"recorded", "device"},
      [&options](const std::string& text) { options.place = replayer::parse_place(text); }, "PLACE",
      "Tensors that were recorded on a CPU: recorded (they stay on the CPU) or device (they "
      "move "
      "to --device). Default: recorded; a benchmark recorded on CPUs alone moves as a whole");
  add_choice_option(
      app, "--comms", {"nccl", "host"},
      [&options](const std::string& text) { options.comms = replayer::parse_comms_path(text); },
      "PATH",
      "How tensors of a GPU travel between ranks: nccl (from GPU to GPU) or host (through host "
      "memory). Default: nccl; host where ranks share a GPU");
  add_choice_option(
      app, "--streams", {"one", "recorded"},
      [&options](const std::string& text) { options.streams = replayer::parse_streams(text); },
      "STREAMS",
      "Streams of a GPU that operators run on: one, or recorded (the original's, from the "
      "linked profile; what one writes for another is waited for). Default: recorded where "
      "communications had streams of their own, else one");
  add_number_option(app, "--warmup", options.warmup, 0, kMostIterations, "N",
                    "Iterations before the measured ones")
      ->capture_default_str();
  add_number_option(
      app, "--iterations", options.iterations, 1, kMostIterations, "N",
      "Measured iterations at most (default: 20; no limit if only --seconds or --until is "
      "given)");
  add_number_option(
      app, "--seconds", options.seconds, 0.001, kMostSeconds, "S",
      "Seconds of measured iterations at most (default: 30; no limit if only --iterations is "
      "given; 120 with --until)");
  add_number_option(
      app, "--passes", options.passes, 1, kMostIterations, "N",
      "Timing passes after the measured iterations, in which each operator is timed by "
      "itself (default: as many as iterations, for no longer than they took; from 20 "
      "iterations on up to 200 passes, for 2 s or as long as the iterations took)");
  add_number_option(
      app, "--timeout", options.timeout_s, kLeastTimeoutSeconds, kMostSeconds, "S",
      "End the job when a rank that others wait for has made no progress for this many "
      "seconds (default: 300 until the first iteration is done, then 20 times the "
      "slowest rank's first iteration, at least 60)");
  add_number_option(app, "--threads", options.threads, 0, kMostThreads, "N",
                    "Threads of an operator; 0: this host's cores, shared by its ranks")
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
  add_choice_option(
      app, "--only", {"compute", "comms"},
      [&arguments](const std::string& name) {
        arguments.options.only = kNames.at(name);
        arguments.filters.push_back("--only " + name);
      },
      "PART", "Replay only this part: compute or comms");
}

void add_loop_options(CLI::App& app, replayer::ReplayOptions& options) {
  add_text_option(
      app, "--pace",
      [&options](const std::string& text) {
        const std::optional<replayer::Pace> pace = replayer::parse_pace(text);
        options.pace = pace.value_or(options.pace);
        return pace.has_value();
      },
      "none of asap, recorded, host, scaled:F (F from 0)", "PACE",
      "When operators are issued: asap, recorded (with the original's gaps between them), host "
      "(those at this host's speed) or scaled:F (those times F)")
      ->default_str("asap");
  add_text_option(
      app, "--page-faults",
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
          return false;
        }
        return true;
      },
      "none of recorded, any, a number", "N",
      "Page faults of an iteration: recorded (as many as the original's steps had: the profiled "
      "ones with --pace asap, else the unprofiled ones), any (leave it to malloc) or a number")
      ->default_str("recorded");
  add_text_option(
      app, "--memory-limit",
      [&options](const std::string& text) {
        options.memory_limit_bytes = et_schema::parse_bytes(text);
        return options.memory_limit_bytes.has_value();
      },
      "no number of bytes, as 8G, 512M or 4096", "BYTES",
      "Refuse a benchmark that needs more memory, before allocating any: 8G, 512M, or a number of "
      "bytes");
  app.add_flag("--require-steady-clocks", options.require_steady_clocks,
               "Fail if a GPU held its clocks down, or moved them, while it was measured");
  add_text_option(
      app, "--slow",
      [&options](const std::string& text) {
        const std::size_t colon = text.find(':');
        double percent = 0;
        options.slow = replayer::PlantedSlowdown{text.substr(0, colon), 0};
        if (colon == std::string::npos ||
            !CLI::detail::lexical_cast(text.substr(colon + 1), percent)) {
          return false;
        }
        options.slow->percent = percent;
        return percent > 0 && percent <= kMostPercent;
      },
      "not CLASS:PERCENT, as matmul:3", "CLASS:PERCENT",
      "Slow down the operators of a class, to try compare");
  add_text_option(
      app, "--until",
      [&options](const std::string& text) {
        options.until_percent = parse_percent(text, kWidestInterval);
        return options.until_percent.has_value();
      },
      "no percentage above 0, as 1 or 0.5%", "X%",
      "Measure until the 95 % interval of the median is within ± X %, at most --seconds (then 120 "
      "by default) or --iterations");
}

void add_trust_options(CLI::App& app, replayer::ReplayOptions& options) {
  add_allow_option(app, options.allowed_operators);
  add_choice_option(
      app, "--machine-code", {"run", "stub"},
      [&options](const std::string& text) {
        options.machine_code = replayer::parse_machine_code_use(text);
      },
      "WHAT",
      "Machine code for the CPU that the benchmark holds: run (trust whoever made it) or stub. "
      "Without this a benchmark that holds some is refused");
  add_choice_option(
      app, "--sandbox", {"auto", "on", "off"},
      [&options](const std::string& text) { options.sandbox = *replayer::parse_sandbox(text); },
      "WHEN",
      "Give up writing files but the outputs, starting programs and opening sockets before "
      "operators run: auto (as far as the kernel can), on (fail if it cannot) or off")
      ->default_str("auto");
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
  add_loop_options(*app, arguments.options);
  app->add_flag_callback(
      "--no-restore", [&arguments] { arguments.options.restores = false; },
      "Never reset inputs and weights to their initial values between iterations");
  add_only_option(*app, arguments);
  add_number_option(*app, "--rank", arguments.rank, 0, kMostRanks, "K",
                    "Replay this rank of the benchmark alone");
  add_number_option(*app, "--min-coverage", arguments.min_coverage, 0.0, 1.0, "X",
                    "Fail if less than this share of the operators is replayed");
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
  app->add_option("--trace", arguments.trace_path,
                  "Write Kineto's profile of a step to this file, after what is measured; with "
                  "several ranks, rank R's is beside it (out.R.json), and this one has them all")
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
  add_format_option(*app, arguments.format);
  add_quiet_option(*app, arguments.quiet,
                   "no text on standard output where --report takes the result");
  parse_arguments(*app, argc, argv);
  arguments.options.checksums = !arguments.checksums_path.empty();
  arguments.options.operator_times = !arguments.operator_times_path.empty();
  return arguments;
}

}  // namespace understudy::cli
