#include <fmt/format.h>

#include <string>
#include <vector>

#include "arguments.h"
#include "cli/common/output.h"
#include "cli/common/output_path.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "cli/compile/compile.h"
#include "cli/pages/prediction/prediction_page.h"
#include "et_schema/base/output_file.h"
#include "predictor/calls/known_cards.h"

namespace understudy::cli {
namespace {

std::string rendered(const PredictArguments& arguments, const PredictedStep& step) {
  const et_schema::Prediction& prediction = step.prediction;
  const bool is_page = arguments.format == Format::kHtml;
  return pages::written(
      pages::prediction_page(
          prediction,
          is_page ? timeline_of(step.trace, prediction.slowest_rank) : pages::Timeline(),
          kRowsInText),
      arguments.format);
}

int predict(const PredictArguments& arguments) {
  std::vector<std::string> inputs = arguments.paths;
  inputs.insert(inputs.end(), {arguments.platform, arguments.card, arguments.explain});
  refuse_output(arguments.report, inputs, "--report");
  refuse_output(arguments.trace, inputs, "--trace");
  refuse_shared_outputs({{arguments.report, "--report"}, {arguments.trace, "--trace"}});
  Progress progress(arguments.quiet);
  progress.tick();
  const PredictedStep step = predict_step(arguments, progress);
  if (!arguments.trace.empty()) {
    et_schema::write_file_atomically(arguments.trace, step.trace);
  }
  if (!arguments.report.empty()) {
    et_schema::write_file_atomically(arguments.report, et_schema::to_json(step.prediction));
  }
  progress.clear();
  if (!arguments.quiet || arguments.report.empty()) {
    print_output(rendered(arguments, step));
  }
  return kStatusOk;
}

int show_card(const PredictArguments& arguments) {
  const predictor::Card card = card_named(arguments.card, "--card");
  print_output(predictor::json_value(card).dump(2) + "\n");
  return kStatusOk;
}

int list_fabrics() {
  std::string names;
  for (const predictor::Fabric& each : predictor::known_fabrics()) {
    names += fmt::format("{:12} {:5.1f} GB/s a rank, {:4.1f} us: {}\n", each.name,
                         each.bytes_per_s * 1e-9, each.step_ns * 1e-3, each.source);
  }
  print_output(names);
  return kStatusOk;
}

int list_cards() {
  std::string names;
  for (const predictor::Card& card : predictor::known_cards()) {
    names += card.name + "\n";
  }
  print_output(names);
  return kStatusOk;
}

const Verb kVerb("predict", "Predicts how long a step or an operator takes, without running it",
                 [](int argc, char** argv) {
                   const PredictArguments arguments = read_predict_arguments(argc, argv);
                   return arguments.network == kAllNames ? list_fabrics()
                          : arguments.card == kAllNames  ? list_cards()
                          : !arguments.profile.empty()   ? predict_from_profile(arguments)
                          : !arguments.table.empty()     ? predict_operators(arguments)
                          : arguments.paths.empty()      ? show_card(arguments)
                                                         : predict(arguments);
                 });

}  // namespace
}  // namespace understudy::cli
