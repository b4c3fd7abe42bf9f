#include "calibrate/fit_files.h"
#include "common/run_main.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    "  calibrate operators.jsonl -o here.platform.json    from `replay --operator-times`\n"
    "  calibrate kernels/ --spec cards/ -o cards.platform.json\n"
    "                                                     tables of several cards, told apart by\n"
    "                                                     their column Device\n"
    "  calibrate kernels/ few.csv --spec cards/ -o new.platform.json\n"
    "                                                     a card with a few calls of its own\n";

int calibrate(int argc, char** argv) {
  FitArguments arguments;
  const auto app = make_app(
      {.name = "calibrate",
       .description = "Fits models of what operators take to measurements: a platform file, which "
                      "predict reads.",
       .examples = kExamples,
       .failure = "the platform file could not be written"});
  add_fit_options(*app, arguments);
  add_format_option(*app, arguments.format);
  add_quiet_option(*app, arguments.quiet, "no text on standard output");
  parse_arguments(*app, argc, argv);
  return fit_files(arguments);
}

}  // namespace
}  // namespace understudy::cli

int main(int argc, char** argv) {
  return understudy::cli::run_main("calibrate", argc, argv,
                                   [&] { return understudy::cli::calibrate(argc, argv); });
}
