#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "arguments.h"
#include "cli/common/command_line.h"
#include "cli/common/output.h"
#include "cli/common/output_path.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/pages/document/page.h"
#include "cli/profile/profiled_device.h"
#include "costs.h"
#include "et_schema/base/csv.h"
#include "et_schema/base/error.h"
#include "et_schema/base/output_file.h"
#include "et_schema/base/quote.h"
#include "et_schema/formats/json_trace/sniff.h"
#include "judged.h"
#include "predictor/calls/measured_files.h"
#include "predictor/collectives/rows.h"
#include "predictor/platform/platform_costs.h"

namespace understudy::cli {
namespace {

using et_schema::CsvTable;
using predictor::MeasuredCall;

/// Rows to predict, and the table that predictions are added to.
struct Asked {
  CsvTable table;
  std::vector<MeasuredCall> calls;
};

Asked asked_in(const std::vector<et_schema::InputFile>& files, const std::string& path) {
  std::optional<Asked> asked;
  for (const et_schema::InputFile& file : files) {
    Asked& read = asked.emplace();
    const bool is_profile = et_schema::classify_json(file.data) == et_schema::JsonKind::kKineto;
    if (is_profile || file.data.starts_with('{')) {
      read.calls = is_profile
                       ? profiled_rows(et_schema::parse_kineto(file.data, file.name,
                                                               et_schema::KinetoDetail::kArguments))
                             .calls
                       : predictor::calls_of(et_schema::parse_operator_times(file.data, file.name),
                                             file.name);
      read.table = et_schema::parse_csv(predictor::to_csv(read.calls), file.name);
    } else {
      read.table = et_schema::parse_csv(file.data, file.name);
      read.calls = predictor::calls_of(read.table, predictor::Times::kOptional);
    }
  }
  if (!asked || asked->calls.empty()) {
    throw et_schema::bad_input("nothing to predict",
                               {.file = path, .expected = "a row", .got = "none"});
  }
  return std::move(*asked);
}

/// Returns the device of a row's call: `--card`, else the row's own, else the
/// platform's only one.
predictor::DeviceKey device_of(const MeasuredCall& call, const PredictArguments& arguments,
                               const ChosenPlatform& chosen) {
  const std::string& name = chosen.device.empty() ? call.device : chosen.device;
  const int threads = call.threads > 0 ? call.threads : std::max(arguments.threads, 0);
  return predictor::find_device(chosen.platform.operators, {name, threads});
}

using Energies = std::vector<std::optional<predictor::EnergyPrediction>>;

/// `energies` is empty if the platform has none.
std::string written(const Asked& asked, const std::vector<predictor::Prediction>& predictions,
                    const Energies& energies) {
  std::string out;
  for (const std::string& title : asked.table.columns) {
    out += et_schema::csv_cell(title) + ",";
  }
  out += "ms,low,high,model,extrapolated,unmodelled";
  out += energies.empty() ? "\n" : ",energy_j,energy_low_j,energy_high_j\n";
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    for (const std::string& cell : asked.table.records[row].cells) {
      out += et_schema::csv_cell(cell) + ",";
    }
    const predictor::Prediction& p = predictions[row];
    out += fmt::format("{:.6g},{:.6g},{:.6g},{},{},{}", p.ns / kNsPerMs, p.low_ns / kNsPerMs,
                       p.high_ns / kNsPerMs, et_schema::csv_cell(p.model), p.extrapolated ? 1 : 0,
                       p.modelled ? 0 : 1);
    if (!energies.empty()) {
      const auto& energy = energies[row];
      out += energy ? fmt::format(",{:.6g},{:.6g},{:.6g}", energy->joules, energy->low_joules,
                                  energy->high_joules)
                    : ",,,";
    }
    out += "\n";
  }
  return out;
}

pages::Page summary_page(const Asked& asked, const std::vector<predictor::Prediction>& predictions,
                         const std::string& output) {
  Judged judged;
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    const MeasuredCall& call = asked.calls[row];
    judged.add(full_name(call.call), call.time().median_ns, predictions[row]);
  }
  pages::Page page;
  page.title = output + ": " + judged.summary();
  page.sections = {judged.section("operator")};
  return page;
}

}  // namespace

int predict_operators(const PredictArguments& arguments) {
  std::vector<et_schema::InputFile> files;
  et_schema::read_input_files(
      arguments.table, et_schema::process_limits(),
      [&](et_schema::InputFile&& file) { files.push_back(std::move(file)); });
  const auto is_communication = [](const et_schema::InputFile& file) {
    return predictor::is_collective_rows(file.data);
  };
  if (std::ranges::any_of(files, is_communication)) {
    refuse_if(!arguments.report.empty(), "predictions of communication are printed", "--report",
              "--format json or csv", "--report FILE", "understudy predict --help shows examples");
    return predict_collectives(arguments, files);
  }
  refuse_if(arguments.format == Format::kHtml, "there is no page of single operators",
            "--format html", "a step: a benchmark or traces", "--operators");
  refuse_if(arguments.format == Format::kJson, "single operators are written as a table",
            "--format json", "csv, or no --format", "--operators");
  refuse_output(arguments.report, {arguments.table, arguments.platform, arguments.card},
                "--report");
  Progress progress(arguments.quiet);
  progress.show("reading");
  const ChosenPlatform chosen = choose_platform(arguments.platform, arguments.card);
  const Asked asked = asked_in(files, arguments.table);
  progress.show("predicting");
  std::vector<predictor::Prediction> predictions;
  predictions.reserve(asked.calls.size());
  Energies energies;
  for (const MeasuredCall& call : asked.calls) {
    const predictor::DeviceKey device = device_of(call, arguments, chosen);
    predictions.push_back(chosen.platform.operators.predict(call.call, device, call.counters));
    if (chosen.platform.energy) {
      energies.push_back(
          chosen.platform.energy->predict(call.call, device, chosen.platform.operators));
    }
  }
  progress.clear();
  const std::string table = written(asked, predictions, energies);
  if (arguments.report.empty()) {
    print_output(table);
    return kStatusOk;
  }
  et_schema::write_file_atomically(arguments.report, table);
  if (!arguments.quiet) {
    print_output(pages::to_text(summary_page(asked, predictions, arguments.report)));
  }
  return kStatusOk;
}

}  // namespace understudy::cli
