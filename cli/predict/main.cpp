#include <string>

#include "common/command_line.h"
#include "common/run_main.h"
#include "predict/operators.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    "  predict --operators rows.csv --platform here.platform.json -o out.csv\n"
    "                                        a table of single operators with their times\n"
    "  predict --operators rows.csv --platform cards.platform.json --card h100.json\n"
    "                                        on a card that was not measured\n";

int predict(int argc, char** argv) {
  OperatorsArguments arguments;
  const auto app =
      make_app({.name = "predict",
                .description = "Predicts what work takes on a platform, without running it.",
                .examples = kExamples,
                .failure = "the result could not be written"});
  app->add_option("--operators", arguments.table,
                  "A table of operators: columns as in docs/formats.md, or an operator-times file")
      ->required()
      ->type_name("FILE");
  app->add_option("--platform", arguments.platform, "What calibrate wrote")
      ->required()
      ->type_name("FILE");
  app->add_option("--card", arguments.card,
                  "Predict for this card, whatever device the table names")
      ->type_name("FILE");
  app->add_option("--threads", arguments.threads,
                  "Threads of operators on a CPU, where the table does not say")
      ->check(CLI::Range(1, 4096).description(""))
      ->type_name("N");
  app->add_option("-o,--output", arguments.output, "The table with predictions")->type_name("FILE");
  add_quiet_option(*app, arguments.quiet, "the table is printed unless --output takes it");
  parse_arguments(*app, argc, argv);
  return predict_operators(arguments);
}

}  // namespace
}  // namespace understudy::cli

int main(int argc, char** argv) {
  return understudy::cli::run_main("predict", argc, argv,
                                   [&] { return understudy::cli::predict(argc, argv); });
}
