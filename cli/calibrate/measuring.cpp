#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "arguments.h"
#include "cli/common/output.h"
#include "cli/common/output_path.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/common/stop_signals.h"
#include "cli/common/verb.h"
#include "cli/pages/document/from_json.h"
#include "communication.h"
#include "fit_files.h"
#include "measure.h"

namespace understudy::cli {
namespace {

/// Measures this machine, prints the result, and writes the rows and, if requested, the platform
/// file. Returns the exit status.
int measure_machine(const CalibrateArguments& arguments) {
  refuse_output(arguments.fit.output, {}, "--output");
  Progress progress(arguments.fit.quiet);
  const CalibrationSummary summary = measure_operators(arguments, progress);
  progress.clear();
  pages::show(summary_page(summary, arguments.rows), arguments.fit.format, arguments.fit.quiet);
  if (summary.signal != 0) {
    return status_of_signal(summary.signal);
  }
  if (!arguments.fit.output.empty()) {
    write_platform(
        arguments,
        {{"host", nlohmann::ordered_json{{"page_fault_ns", summary.page_fault_ns}}.dump()}});
  }
  return kStatusOk;
}

int calibrate(int argc, char** argv) {
  CommunicationJob job;
  const int status = run_main("calibrate", argc, argv, [&] {
    const CalibrateArguments arguments = read_calibrate_arguments(argc, argv);
    return CommunicationJob::is_wanted() ? job.run(arguments) : measure_machine(arguments);
  });
  if (status != kStatusOk) {
    job.end_others(status);
  }
  return status;
}

const Verb kVerb("calibrate", "Measures this machine, and fits models to that", calibrate);

}  // namespace

void write_platform(const CalibrateArguments& arguments,
                    std::map<std::string, std::string> sections) {
  FitArguments fit = arguments.fit;
  fit.inputs = {arguments.rows};
  fit.sections = std::move(sections);
  if (fit.format != Format::kText) {
    fit.format = Format::kText;
    fit.quiet = true;
  } else if (!fit.quiet) {
    print_output("\n");
  }
  static_cast<void>(fit_files(fit));
  if (!arguments.keeps_rows) {
    std::error_code ignored;  // the platform file also holds the rows
    std::filesystem::remove(arguments.rows, ignored);
  }
}

}  // namespace understudy::cli
