#include "arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "et_schema/base/error.h"
#include "replayer/calibrator/design/area.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    R"(  understudy calibrate -o here.platform.json              this machine, in 10 minutes, or on with it
  mpirun -np 4 understudy calibrate -o comms.jsonl        communication in groups of 2 and 4
  understudy calibrate --device cuda -o gpu.platform.json operators of this machine's GPU
  understudy calibrate rows.jsonl -o here.platform.json   from `replay --operator-times`, or from rows
  understudy calibrate kernels/ --card cards/ -o cards.platform.json
                                                          tables of cards, by their column Device)";

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
          "no duration, as 90s, 10m or 1.5h", "Measuring time: 90s, 10m, 1h")
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
  for (const char* flag : {"--device", "--budget", "--only", "--threads"}) {
    if (!measures && line.is_given(flag)) {
      throw et_schema::usage_error(fmt::format("{} is for measuring, but there are inputs", flag),
                                   {.field = flag,
                                    .expected = "no INPUT",
                                    .got = arguments.fit.inputs.front(),
                                    .hint = "Leave the inputs out to measure this machine."});
    }
  }
  refuse_if(arguments.fit.output.empty(), "there is nowhere to write to", "--output", "-o FILE",
            "nothing", "understudy calibrate --help shows examples");
}

void add_measuring_options(CommandLine& line, CalibrateArguments& arguments) {
  line.was_replaced("--for", "replay BENCH --operator-times ROWS.jsonl, then calibrate ROWS.jsonl");
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
  line.was_replaced("--energy", "replay --device cuda, which reports the energy of an iteration");
}

}  // namespace

CalibrateArguments read_calibrate_arguments(int argc, char** argv) {
  CalibrateArguments arguments;
  CommandLine line({.name = "understudy calibrate",
                    .description =
                        "Writes a platform file for predict: models of operator times, fitted to "
                        "calls measured on this machine or to existing measurements.",
                    .examples = kExamples,
                    .success = "the models were fitted and written",
                    .more_statuses = kMoreStatuses,
                    .common = {"--card", "--device", "--only", "--threads", "--budget", "--output",
                               "--format"}});
  add_fit_options(line, arguments.fit);
  add_measuring_options(line, arguments);
  line.add_format(arguments.fit.format);
  line.add_quiet(arguments.fit.quiet, "no text on standard output");
  line.parse(argc, argv);
  check_mode(line, arguments);
  if (arguments.threads.empty()) {
    arguments.threads = default_threads();
  }
  arguments.keeps_rows = arguments.fit.inputs.empty() && arguments.fit.output.ends_with(".jsonl");
  arguments.rows = arguments.keeps_rows ? std::exchange(arguments.fit.output, "")
                                        : arguments.fit.output + ".rows.jsonl";
  return arguments;
}

}  // namespace understudy::cli
