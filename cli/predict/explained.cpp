#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "arguments.h"
#include "cli/common/command_line.h"
#include "et_schema/base/csv.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/read_file.h"
#include "et_schema/model/operator_call.h"
#include "predictor/work/step_work.h"

namespace understudy::cli {
namespace {

using et_schema::PredictedSum;

constexpr double kMsPerS = 1e3;
constexpr double kFlopPerGflop = 1e9;
constexpr double kFlopsOfParameter = 6;  // for each token: 2 in the forward pass, 4 in the backward

/// A rank's step as somebody published it.
struct Step {
  double ms = 0;
  double tokens = 0;
  double parameters = 0;
};

/// Returns how many rows the program looks up in its largest embedding; 0: it has none.
double tokens_of(const et_schema::Program& program) {
  double tokens = 0;
  double most_rows = 0;
  for (const et_schema::Instruction& instruction : program.instructions) {
    const et_schema::OperatorCall call = operator_call(program, instruction);
    if (call.name == "aten::embedding" && call.inputs.size() > 1) {
      const auto rows = static_cast<double>(call.inputs[0].sizes.front());
      tokens = rows > most_rows ? 0 : tokens;
      most_rows = std::max(most_rows, rows);
      tokens += rows == most_rows ? static_cast<double>(element_count(call.inputs[1])) : 0;
    }
  }
  return tokens;
}

/// Reads the published step of as many GPUs whose tokens are nearest.
Step published_step(const std::string& file, double gpus, double tokens, double peak) {
  const et_schema::CsvTable table =
      et_schema::parse_csv(et_schema::read_file(file, et_schema::process_limits()), file);
  std::optional<Step> nearest;
  for (const et_schema::CsvRecord& record : table.records) {
    const auto number = [&](std::string_view column, double otherwise) {
      return table.has(column) ? std::strtod(record.cells[table.find(column)].c_str(), nullptr)
                               : otherwise;
    };
    Step step{.parameters = number("parameters", 0)};
    step.tokens = number("tokens", number("sequence", 0) * number("micro_batch", 1) *
                                       number("grad_accumulation", 1));
    const double of_mfu_s =
        kFlopsOfParameter * step.parameters * step.tokens / (number("mfu", 0) * peak);
    const double of_rate_s = step.tokens * gpus / number("tokens_per_s", 0);
    step.ms = number("step_ms", kMsPerS * (std::isfinite(of_rate_s) ? of_rate_s : of_mfu_s));
    const auto distance = [&](const Step& of) { return std::abs(of.tokens - tokens); };
    if (step.ms > 0 && std::isfinite(step.ms) && number("gpus", gpus) == gpus &&
        (!nearest || distance(step) < distance(*nearest))) {
      nearest = step;
    }
  }
  refuse_if(!nearest, "no published step of this job", "--explain",
            fmt::format("a row of {} gpus with step_ms, tokens_per_s or mfu", gpus),
            et_schema::counted(table.records.size(), "row") + " without",
            "docs/prediction.md, \"From a published figure\", lists the columns", file);
  return *nearest;
}

}  // namespace

std::vector<PredictedSum> explained(const std::string& file, const et_schema::Program& program,
                                    const predictor::Card& card,
                                    const et_schema::Prediction& prediction) {
  const double tokens = tokens_of(program);
  const double peak = predictor::most_flops(card, et_schema::DType::kBFloat16);
  const Step published = published_step(file, prediction.world_size, tokens, peak);
  std::map<std::string, std::string> classes;
  for (const et_schema::PredictedOperator& each : prediction.operators) {
    classes[each.name] = each.op_class;
  }
  std::map<std::string, double> path_ms;
  double others_ms = 0;
  for (const PredictedSum& row : prediction.critical_path) {
    const std::string& of = classes[row.name];
    const bool is_rated = of == "matmul" || of == "attention";
    (is_rated ? path_ms[of] : others_ms) += row.where == "device" ? row.ms : 0;
  }
  const auto at_peak = [peak](double flops) { return flops / peak * kMsPerS; };
  std::map<std::string, double> flops;  // by class
  for (const et_schema::ClassWork& row : predictor::step_work({&program}).classes) {
    flops[row.op_class] += row.gflop * kFlopPerGflop;
  }
  const double counted_ms = at_peak(kFlopsOfParameter * published.parameters * tokens);
  const double matmul_ms = at_peak(flops["matmul"]);
  const double attention_ms = at_peak(flops["attention"]);
  const double other_size_ms =
      published.tokens > 0 && tokens > 0 ? published.ms * (1 - tokens / published.tokens) : 0;
  std::vector<PredictedSum> parts = {
      {"configuration", 0, other_size_ms,
       fmt::format("{} tokens a rank, the benchmark has {}", published.tokens, tokens)},
      {"FLOP that are counted, at the peak", 0, counted_ms,
       fmt::format("6 a parameter and token, of {} TFLOP/s: MFU {:.1f} %",
                   et_schema::figure_text(peak * 1e-12),
                   et_schema::kPercent * counted_ms / (published.ms - other_size_ms))},
      {"other products, at the peak", 0, matmul_ms - counted_ms, "recomputation, less embeddings"},
      {"attention, at the peak", 0, attention_ms, "causal: half of the square"},
      {"products' rate", 0, path_ms["matmul"] - matmul_ms, "predicted, beyond the peak"},
      {"attention's rate", 0, path_ms["attention"] - attention_ms, "predicted, beyond the peak"},
      {"other kernels", 0, others_ms, "predicted"},
      {"exposed communication", 0, prediction.bound_ms.exposed_communication, "predicted"},
      {"host", 0, prediction.bound_ms.host_bound + prediction.bound_ms.idle, "predicted"},
      {"not explained", 0, published.ms, "published, less the predicted step"}};
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    parts.back().ms -= parts[i].ms;
  }
  return parts;
}

}  // namespace understudy::cli
