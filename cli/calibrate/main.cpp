#include <csignal>

#include "calibrate/arguments.h"
#include "calibrate/measure.h"
#include "common/output.h"
#include "common/progress.h"
#include "common/run_main.h"
#include "common/stop_signals.h"

namespace {

using understudy::cli::CalibrateArguments;
using understudy::cli::CalibrationSummary;

void print(const CalibrateArguments& arguments, const CalibrationSummary& summary) {
  using understudy::cli::Format;
  switch (arguments.format) {
    case Format::kText:
      if (!arguments.quiet) {
        understudy::cli::print_output(to_text(summary, arguments.rows));
      }
      break;
    case Format::kJson:
      understudy::cli::print_output(to_json(summary, arguments.rows));
      break;
    case Format::kCsv:
      understudy::cli::print_output(to_csv(summary));
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return understudy::cli::run_main("calibrate", argc, argv, [&] {
    const CalibrateArguments arguments = understudy::cli::read_calibrate_arguments(argc, argv);
    understudy::cli::Progress progress;
    if (arguments.quiet) {
      progress.silence();
    }
    const CalibrationSummary summary = measure_operators(arguments, progress);
    progress.clear();
    print(arguments, summary);
    return summary.signal == 0 ? understudy::cli::kStatusOk
                               : understudy::cli::status_of_signal(summary.signal);
  });
}
