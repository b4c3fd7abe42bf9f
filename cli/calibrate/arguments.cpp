#include "arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>

#include "cli/compile/compile.h"
#include "et_schema/base/error.h"
#include "replayer/calibrator/design/area.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    "  calibrate -o here.platform.json              this machine, in 10 minutes, or on with it\n"
    "  calibrate --for bench.et -o p.platform.json  the calls of benchmarks, and their neighbours\n"
    "  mpirun -np 4 calibrate --rows comms.jsonl    communication in groups of 2 and 4\n"
    "  calibrate --device cuda -o gpu.platform.json operators of this machine's GPU\n"
    "  calibrate rows.jsonl -o here.platform.json   from `replay --operator-times`, or from rows\n"
    "  calibrate kernels/ --card cards/ -o cards.platform.json\n"
    "                                               tables of cards, by their column Device\n"
    "  calibrate a.json.gz -o h100.platform.json    from profiles, recorded with shapes\n";

constexpr const char* kMoreStatuses =
    "  130 and 143  SIGINT and SIGTERM: the first ends the measurement and keeps the rows so\n"
    "      far; the second ends it at once\n";

constexpr double kDefaultBudgetSeconds = 600;
constexpr double kMostSeconds = 1e6;
constexpr int kMostThreads = 4096;

/// Parses "90s", "10m", "1.5h" or a number of seconds; empty for other texts.
std::optional<double> parse_duration_s(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (end == text.c_str() || !(number * scale > 0) || number * scale > kMostSeconds) {
    return std::nullopt;
  }
  return number * scale;
}

void add_limit_options(CommandLine& line, CalibrateArguments& arguments) {
  arguments.budget_s = kDefaultBudgetSeconds;
  line.add_text(
          "--budget TIME",
          [&arguments](const std::string& text) {
            const std::optional<double> seconds = parse_duration_s(text);
            arguments.budget_s = seconds.value_or(0);
            return seconds.has_value();
          },
          "no duration, as 90s, 10m or 1.5h",
          "Total measuring time, interrupted calibrations included: 90s, 10m, 1h")
      .shows_default("10m");
}

std::vector<int> default_threads() {
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return cores == 1 ? std::vector<int>{1} : std::vector<int>{1, cores};
}

/// Throws if flags of measuring are used with existing measurements, or flags of fitting without
/// them.
void check_mode(const CommandLine& line, const CalibrateArguments& arguments) {
  const bool measures = arguments.fit.inputs.empty();
  for (const char* flag :
       {"--rows", "--for", "--device", "--energy", "--budget", "--only", "--threads"}) {
    if (!measures && line.is_given(flag)) {
      throw et_schema::usage_error(fmt::format("{} is for measuring, but there are inputs", flag),
                                   {.field = flag,
                                    .expected = "no INPUT",
                                    .got = arguments.fit.inputs.front(),
                                    .hint = "Leave the inputs out to measure this machine."});
    }
  }
  refuse_if(arguments.energy && arguments.device == "cpu",
            "the energy of calls is counted on GPUs only", "--energy", "--device cuda",
            "--device cpu", "Leave --energy out, or measure a GPU.");
  refuse_if(arguments.fit.output.empty() && (!measures || arguments.rows.empty()),
            "there is nowhere to write to", "--output",
            measures ? "-o FILE for a platform, or --rows FILE" : "-o FILE", "nothing",
            "calibrate --help shows examples");
}

void add_measuring_options(CommandLine& line, CalibrateArguments& arguments) {
  line.begin(FlagGroup::kOutput);
  line.add("--rows FILE", arguments.rows,
           "Write the measured rows to this operator-times file as they come, those of embedding "
           "tables to FILE.tables; existing files are continued (default: files beside the "
           "platform file, until that is written)");
  line.begin(FlagGroup::kInput);
  line.add("--for BENCH", arguments.benches,
           "Measure the operator calls of this benchmark or trace, and calls of neighbouring "
           "sizes; can be repeated")
      .repeats();
  line.begin(FlagGroup::kTrust);
  add_allow_option(line, arguments.allowed_operators);
  line.begin(FlagGroup::kRuns);
  line.add("--device DEVICE", arguments.device,
           "What to measure: cpu, cuda (a GPU; under mpirun the GPU with the rank's number on its "
           "host, and NCCL between them) or cuda:N");
  line.add("--only CLASS", arguments.only,
           fmt::format("Measure only operators of this class: {}",
                       fmt::join(calibrator::area_classes(), ", ")))
      .is_one_of(calibrator::area_classes());
  line.add_number("--threads N,…", arguments.threads, 1, kMostThreads,
                  "Threads of an operator, a list with commas (default: 1 and this host's cores)")
      .splits_at_commas();
  line.begin(FlagGroup::kMeasurement);
  add_limit_options(line, arguments);
  line.add_flag("--energy", arguments.energy,
                "Measure the energy of each call, too, in half a second more of it (GPUs)");
}

}  // namespace

CalibrateArguments read_calibrate_arguments(int argc, char** argv) {
  CalibrateArguments arguments;
  CommandLine line({.name = "calibrate",
                    .description =
                        "Writes a platform file for predict: models of operator times, fitted to "
                        "calls measured on this machine or to existing measurements.",
                    .examples = kExamples,
                    .failure = "a file could not be written",
                    .more_statuses = kMoreStatuses,
                    .common = {"--card", "--for", "--device", "--only", "--threads", "--budget",
                               "--output", "--rows", "--format"}});
  add_fit_options(line, arguments.fit);
  add_measuring_options(line, arguments);
  line.add_format(arguments.fit.format);
  line.add_quiet(arguments.fit.quiet, "no text on standard output");
  line.parse(argc, argv);
  check_mode(line, arguments);
  if (arguments.threads.empty()) {
    arguments.threads = default_threads();
  }
  arguments.keeps_rows = !arguments.rows.empty();
  if (!arguments.keeps_rows) {
    arguments.rows = arguments.fit.output + ".rows.jsonl";
  }
  return arguments;
}

}  // namespace understudy::cli
