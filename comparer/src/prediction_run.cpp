#include <cmath>
#include <map>

#include "comparer/run.h"

namespace understudy::comparer {

Run run_of(const et_schema::Prediction& prediction, const std::string& file) {
  Run run;
  run.file = file;
  run.is_prediction = true;
  run.world_size = prediction.world_size;
  run.environment.tool_version = prediction.tool_version;
  run.environment.benchmark = prediction.benchmark;
  run.environment.benchmark_hash = prediction.benchmark_hash;
  run.environment.settings["costs"] = "predicted";
  for (const auto& [key, value] : prediction.platform) {
    run.environment.settings["platform." + key] = value;
  }
  const auto add = [&](Series row, double ms) {
    if (std::isfinite(ms) && ms >= 0) {
      row.samples_ms = {ms};
      run.rows.push_back(std::move(row));
    } else {
      ++run.samples_left_out;
    }
  };
  add({.kind = RowKind::kIteration, .name = "", .detail = "", .count = 0, .samples_ms = {}},
      prediction.iteration_ms.ms);
  for (const et_schema::PredictedClass& row : prediction.classes) {
    if (row.name != "communication") {
      add({RowKind::kClass, row.name, "", row.count, {}}, row.ms);
    }
  }
  struct Sum {
    std::string op_class;
    std::uint64_t count = 0;
    double ms = 0;
  };
  std::map<std::string, Sum> operators;
  for (const et_schema::PredictedOperator& row : prediction.operators) {
    if (row.op_class != "communication") {
      Sum& sum = operators[row.name];
      sum.op_class = row.op_class;
      ++sum.count;
      sum.ms += row.time.ms;
    }
  }
  for (const auto& [name, sum] : operators) {
    add({RowKind::kOperator, name, sum.op_class, sum.count, {}}, sum.ms);
  }
  return run;
}

}  // namespace understudy::comparer
