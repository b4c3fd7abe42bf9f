#include "calibrate/arguments.h"
#include "calibrate/fit_files.h"
#include "calibrate/measuring.h"
#include "common/run_main.h"

int main(int argc, char** argv) {
  return understudy::cli::run_main("calibrate", argc, argv, [&] {
    const understudy::cli::CalibrateArguments arguments =
        understudy::cli::read_calibrate_arguments(argc, argv);
    return arguments.fit.inputs.empty() ? understudy::cli::measure_machine(arguments)
                                        : understudy::cli::fit_files(arguments.fit);
  });
}
