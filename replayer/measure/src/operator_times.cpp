#include "operator_times.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "collective_time.h"
#include "comm_times.h"
#include "et_schema/model/op_class.h"
#include "median.h"
#include "milliseconds.h"

namespace understudy::replayer {
namespace {

constexpr double kMilliOfNano = 1e-6;

/// Adds the calls of one step to its operator's row.
void add_step(const Step& step, const std::vector<double>& calls_s, et_schema::OperatorTime& row) {
  const bool is_first = row.count == 0;
  ++row.count;
  row.samples_ms.resize(calls_s.size());
  for (std::size_t i = 0; i < calls_s.size(); ++i) {
    row.samples_ms[i] += calls_s[i] * kMsPerSecond;
  }
  row.ms += median(calls_s) * kMsPerSecond;  // of each call, as the recorded times are
  // Known for all calls of the operator, or for none.
  if (step.source->timing && (is_first || row.recorded_ms)) {
    row.recorded_ms = row.recorded_ms.value_or(0) +
                      static_cast<double>(step.source->timing->host_ns) * kMilliOfNano;
  } else {
    row.recorded_ms.reset();
  }
}

}  // namespace

void report_operator_times(const BoundProgram& bound,
                           const std::vector<std::vector<double>>& calls_s,
                           const std::vector<double>& iterations_ms,
                           et_schema::RankReport& report) {
  std::map<std::string, et_schema::OperatorTime> operators;
  CollectiveTimes collectives;
  const std::vector<std::vector<double>> comms_s = times_of_comms(bound, calls_s);
  for (std::size_t i = 0; i < bound.steps.size(); ++i) {
    const Step& step = bound.steps[i];
    if (step.source == nullptr || step.kind == StepKind::kGive || step.kind == StepKind::kAlias) {
      continue;
    }
    const std::string& name = step.source->name;
    const bool communicates = step.kind == StepKind::kStart;
    et_schema::OperatorTime& row = operators[name];
    row.name = name;
    row.op_class = communicates ? "communication" : et_schema::op_class(name);
    const std::vector<double>& times = communicates ? comms_s[step.index] : calls_s[i];
    add_step(step, times, row);
    if (communicates) {
      collectives.add(name, bound.comms[step.index], times);
    }
  }
  report.gap_samples_ms = iterations_ms;
  for (auto& [name, row] : operators) {
    for (std::size_t i = 0; i < row.samples_ms.size(); ++i) {
      report.gap_samples_ms[i] -= row.samples_ms[i];
    }
    report.operators.push_back(std::move(row));
  }
  std::stable_sort(report.operators.begin(), report.operators.end(),
                   [](const auto& a, const auto& b) { return a.ms > b.ms; });
  report.collectives = collectives.rows();
}

}  // namespace understudy::replayer
