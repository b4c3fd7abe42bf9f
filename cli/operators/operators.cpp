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
#include "table.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    R"(  understudy operators bench.et                     each call on this machine's CPU
  understudy operators bench.et --device cuda       on its GPU
  understudy operators bench.et --format csv        a table for a spreadsheet
  understudy operators operators.jsonl              what replay --operator-times --cold measured
  understudy operators calls.csv                    a table of calls (OPName, Inputs, Outputs), here
  understudy operators kernels.csv --platform there.platform.json
                                                    calls that somebody measured elsewhere)";

constexpr int kMostThreads = 4096;

struct Arguments {
  std::vector<std::string> paths;
  bool is_table = false;      ///< of calls without times
  bool are_measured = false;  ///< the paths hold times
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
                    .examples = kExamples,
                    .success = "every call was timed or shown"});
  line.add("BENCH", arguments.paths,
           "A bench.et, or traces: rank 0 is timed, without communication. Or tables of operators "
           "(.csv): calls without times are timed, others shown, as are operators.jsonl of replay")
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
  const bool are_tables = std::ranges::all_of(arguments.paths, predictor::is_named_table);
  refuse_if(!are_tables && arguments.paths.size() > 1, "more than one benchmark", "BENCH",
            "one, or tables alone (.jsonl, .csv)", arguments.paths[1],
            "understudy operators --help shows examples");
  arguments.is_table =
      are_tables && std::ranges::all_of(arguments.paths, TableOfCalls::lacks_times);
  arguments.are_measured = are_tables && !arguments.is_table;
  for (const char* flag : {"--device", "--threads"}) {
    refuse_if(arguments.are_measured && line.is_given(flag), "the rows were measured already", flag,
              "calls without times", arguments.paths[0], "leave it out");
  }
  return arguments;
}

/// Replays a benchmark in a process of its own, which gives up what a stranger's file could misuse.
/// Returns its status; it has told its error.
int measure(const Arguments& arguments, const std::string& bench, const std::string& rows) {
  Progress progress(arguments.quiet);
  progress.show("timing each call");
  progress.tick();
  fleet::ProgramCall call{.words = {sibling("replay"), bench, "--rank", "0", "--only", "compute",
                                    "--operator-times", rows, "--cold", "--quiet"},
                          .variables = {"UNDERSTUDY_PROGRESS=off"}};
  if (arguments.is_table) {
    call.words.emplace_back("--continue-on-error");
  }
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
  if (arguments.are_measured) {
    pages::show(roofline_page(arguments.paths, arguments.platform), arguments.format,
                arguments.quiet);
    return kStatusOk;
  }
  const et_schema::TemporaryFolder scratch;
  const std::string rows = scratch / "operators.jsonl";
  std::string bench = arguments.paths[0];
  std::optional<TableOfCalls> table;
  if (arguments.is_table) {
    bench = scratch / "table.et";
    table.emplace(arguments.paths, bench);
  }
  if (const int status = measure(arguments, bench, rows); status != kStatusOk) {
    return status;
  }
  const std::vector<std::string> refused = table ? table->check(rows) : std::vector<std::string>();
  pages::Page page = roofline_page({rows}, arguments.platform);
  for (const std::string& why : refused) {
    page.verdict.findings.push_back("Not timed: " + why);
  }
  pages::show(page, arguments.format, arguments.quiet);
  return kStatusOk;
}

const Verb kVerb("operators",
                 "Times each call of a benchmark, and shows how near the machine's limit",
                 [](int argc, char** argv) { return operators(read_arguments(argc, argv)); });

}  // namespace
}  // namespace understudy::cli
