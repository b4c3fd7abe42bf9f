// Operators of a benchmark on this machine, a row each.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/common/own_program.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "cli/pages/document/from_json.h"
#include "et_schema/base/temporary_folder.h"
#include "fleet/process/node.h"
#include "fleet/process/run_program.h"
#include "predictor/calls/measured_files.h"
#include "roofline.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    R"(  understudy operators bench.et                     each call on this machine's CPU
  understudy operators bench.et --device cuda       on its GPU
  understudy operators bench.et --format csv        a table for a spreadsheet
  understudy operators operators.jsonl              what replay --operator-times --cold measured
  understudy operators kernels.csv --platform there.platform.json
                                                    calls that somebody measured elsewhere)";

constexpr int kMostThreads = 4096;

struct Arguments {
  std::vector<std::string> paths;
  std::string device;
  int threads = 0;
  std::optional<std::string> platform;
  Format format = Format::kText;
  bool quiet = false;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  CommandLine line({.name = "understudy operators",
                    .description =
                        "Times each call of a benchmark on this machine by itself, with nothing of "
                        "it in a cache, and shows time, FLOP, bytes, and the share of what the "
                        "machine allows.",
                    .examples = kExamples});
  line.add("BENCH", arguments.paths,
           "A bench.et, or traces: rank 0 is timed, without communication. Or what was measured: "
           "operators.jsonl of replay, or tables of operators (.csv)")
      .required();
  line.begin(FlagGroup::kRuns);
  line.add("--device DEVICE", arguments.device, "Where to run: cpu, cuda or cuda:N (default: cpu)");
  line.add_number("--threads N", arguments.threads, 1, kMostThreads,
                  "Threads of an operator (default: this host's cores)");
  line.begin(FlagGroup::kInput);
  line.add("--platform FILE", arguments.platform,
           "The machine's ceilings, which calibrate measured (default: they are measured with the "
           "calls; of tables, a known card's data sheet)");
  line.begin(FlagGroup::kOutput);
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "the result is printed");
  line.parse(argc, argv);
  const bool all_measured = std::ranges::all_of(arguments.paths, predictor::is_named_table);
  refuse_if(!all_measured && arguments.paths.size() > 1, "more than one benchmark", "BENCH",
            "one, or measured rows alone (.jsonl, .csv)", arguments.paths[1],
            "understudy operators --help shows examples");
  for (const char* flag : {"--device", "--threads"}) {
    refuse_if(all_measured && line.is_given(flag), "the rows were measured already", flag,
              "a benchmark", arguments.paths[0], "leave it out, or give the benchmark");
  }
  return arguments;
}

/// Replays a benchmark in a process of its own, which gives up what a stranger's file could misuse.
/// Returns its status; it has told its error.
int measure(const Arguments& arguments, const std::string& rows) {
  Progress progress(arguments.quiet);
  progress.show("timing each call");
  progress.tick();
  fleet::ProgramCall call{.words = {sibling("replay"), arguments.paths[0], "--rank", "0", "--only",
                                    "compute", "--operator-times", rows, "--cold", "--quiet"},
                          .variables = {"UNDERSTUDY_PROGRESS=off"}};
  if (!arguments.device.empty()) {
    call.words.insert(call.words.end(), {"--device", arguments.device});
  }
  if (arguments.threads > 0) {
    call.words.insert(call.words.end(), {"--threads", std::to_string(arguments.threads)});
  }
  const fleet::NodeLock lock;
  const fleet::ProgramEnd end = fleet::run_program(call);
  progress.clear();
  fmt::print(stderr, "{}", end.status == kStatusOk ? "" : end.errors);
  return end.status;
}

int operators(const Arguments& arguments) {
  if (predictor::is_named_table(arguments.paths[0])) {
    pages::show(roofline_page(arguments.paths, arguments.platform), arguments.format,
                arguments.quiet);
    return kStatusOk;
  }
  const et_schema::TemporaryFolder scratch;
  const std::string rows = scratch / "operators.jsonl";
  if (const int status = measure(arguments, rows); status != kStatusOk) {
    return status;
  }
  pages::show(roofline_page({rows}, arguments.platform), arguments.format, arguments.quiet);
  return kStatusOk;
}

const Verb kVerb("operators",
                 "Times each call of a benchmark, and shows how near the machine's limit",
                 [](int argc, char** argv) { return operators(read_arguments(argc, argv)); });

}  // namespace
}  // namespace understudy::cli
