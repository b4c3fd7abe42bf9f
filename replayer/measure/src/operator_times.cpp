#include "operator_times.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "collective_time.h"
#include "et_schema/base/map_values.h"
#include "et_schema/base/statistics.h"
#include "et_schema/model/op_class.h"
#include "milliseconds.h"

namespace understudy::replayer {
namespace {

constexpr double kMilliOfNano = 1e-6;

/// Adds a call's recorded time. The sum becomes unset if the time of any call is unknown.
void add_recorded(std::optional<std::int64_t> ns, bool is_first, std::optional<double>& sum_ms) {
  if (ns && (is_first || sum_ms)) {
    sum_ms = sum_ms.value_or(0) + static_cast<double>(*ns) * kMilliOfNano;
  } else {
    sum_ms.reset();
  }
}

/// Returns true if the profile has device times, so that the original ran on a device.
bool was_on_device(const BoundProgram& bound) {
  return std::ranges::any_of(bound.steps, [](const Step& step) {
    return step.whole != nullptr && step.whole->timing && step.whole->timing->device_ns > 0;
  });
}

/// Adds a step. Of a call that its body replays the first one counts it, with the recorded time of
/// the whole: operators that it called may not have done its work.
void add_step(const Step& step, const std::vector<double>& calls_s, bool begins_call,
              bool on_device, et_schema::OperatorTime& row) {
  row.samples_ms.resize(calls_s.size());
  for (std::size_t i = 0; i < calls_s.size(); ++i) {
    row.samples_ms[i] += calls_s[i] * kMsPerSecond;
  }
  row.ms += et_schema::median(calls_s).value_or(0) *
            kMsPerSecond;  // medians of calls, as the recorded times are
  if (!begins_call) {
    return;
  }
  const bool is_first = row.count++ == 0;
  const std::optional<et_schema::Timing>& timing = step.whole->timing;
  add_recorded(timing ? std::optional(timing->host_ns) : std::nullopt, is_first, row.recorded_ms);
  add_recorded(timing && on_device ? std::optional(timing->device_ns) : std::nullopt, is_first,
               row.recorded_device_ms);
}

}  // namespace

void report_operator_times(const BoundProgram& bound,
                           const std::vector<std::vector<double>>& calls_s,
                           const std::vector<double>& iterations_ms,
                           const std::vector<OverlapHook::Times>& beside, bool has_gaps,
                           et_schema::RankReport& report) {
  std::map<std::string, et_schema::OperatorTime> operators;
  CollectiveTimes collectives;
  const bool on_device = was_on_device(bound);
  const et_schema::Instruction* last = nullptr;
  const std::vector<std::vector<double>> comms_s = times_of_comms(bound, calls_s);
  for (std::size_t i = 0; i < bound.steps.size(); ++i) {
    const Step& step = bound.steps[i];
    if (step.source == nullptr || step.kind == StepKind::kGive || step.kind == StepKind::kAlias) {
      continue;
    }
    const std::string& name = step.whole->name;
    const bool begins_call = std::exchange(last, step.whole) != step.whole;
    const bool communicates = step.kind == StepKind::kStart;
    et_schema::OperatorTime& row = et_schema::row_named(name, operators);
    row.op_class = communicates ? "communication" : et_schema::op_class(name);
    const std::vector<double>& times = communicates ? comms_s[step.index] : calls_s[i];
    add_step(step, times, begins_call, on_device, row);
    if (communicates) {
      collectives.add(name, bound.comms[step.index], times, beside[step.index]);
    }
  }
  report.gap_samples_ms = has_gaps ? iterations_ms : std::vector<double>();
  for (auto& [name, row] : operators) {
    for (std::size_t i = 0; has_gaps && i < row.samples_ms.size(); ++i) {
      report.gap_samples_ms[i] -= row.samples_ms[i];
    }
  }
  report.operators = et_schema::largest_first(std::move(operators), &et_schema::OperatorTime::ms);
  report.collectives = collectives.rows();
  report.communication = communication_use(beside);
}

}  // namespace understudy::replayer
