#include "instruction_times.h"

#include <ATen/Parallel.h>

#include <unordered_map>
#include <utility>

#include "collective_time.h"
#include "et_schema/model/op_class.h"

namespace understudy::replayer {
namespace {

using et_schema::Instruction;
using et_schema::MeasuredCall;
using et_schema::RanAs;

constexpr double kNanoOfSecond = 1e9;
constexpr double kNanoOfMilli = 1e6;

using Numbers = std::unordered_map<const Instruction*, std::uint64_t>;

void number(const std::vector<Instruction>& instructions, Numbers& numbers) {
  for (const Instruction& instruction : instructions) {
    numbers.emplace(&instruction, numbers.size());
    number(instruction.body, numbers);
  }
}

std::optional<et_schema::TimeStats> stats_of(std::vector<double> times, double unit) {
  for (double& time : times) {
    time *= unit;
  }
  return et_schema::time_stats(std::move(times));
}

RanAs ran_as(const Step& step, const BoundProgram& bound) {
  if (step.kind == StepKind::kStart) {
    return RanAs::kCommunication;
  }
  if (step.kind == StepKind::kCall) {
    return RanAs::kExact;
  }
  return bound.substitutes[step.index].rung == Rung::kStubbed ? RanAs::kStub : RanAs::kSubstitute;
}

}  // namespace

std::vector<MeasuredCall> instruction_times(const et_schema::Program& program,
                                            const BoundProgram& bound, const StepFigures& figures) {
  Numbers numbers;
  number(program.instructions, numbers);
  const std::vector<std::vector<double>> comms_s = times_of_comms(bound, figures.calls_s);
  const bool has_device = !figures.device_ms.empty();
  const auto comms_device_ms =
      has_device ? times_of_comms(bound, figures.device_ms) : std::vector<std::vector<double>>();
  std::vector<MeasuredCall> rows;
  for (std::size_t i = 0; i < bound.steps.size(); ++i) {
    const Step& step = bound.steps[i];
    const bool communicates = step.kind == StepKind::kStart;
    if (step.source == nullptr || !step.does_work()) {
      continue;
    }
    const auto host =
        stats_of(communicates ? comms_s[step.index] : figures.calls_s[i], kNanoOfSecond);
    const auto number_of = numbers.find(step.source);
    if (!host || number_of == numbers.end()) {
      continue;  // no pass was completed
    }
    MeasuredCall& row = rows.emplace_back();
    row.instruction = number_of->second;
    row.node_id = step.source->node_id;
    row.call = et_schema::operator_call(program, *step.source);
    row.op_class = communicates ? "communication" : et_schema::op_class(step.source->name);
    row.as = ran_as(step, bound);
    row.host = *host;
    if (has_device) {
      row.on_device =
          stats_of(communicates ? comms_device_ms[step.index] : figures.device_ms[i], kNanoOfMilli);
    }
    if (!figures.counters.empty() && !communicates) {
      row.counters = figures.counters[i];
    }
    if (calls_cold(figures.cold, step)) {
      row.conditions = {.is_cold = true, .threads = at::get_num_threads()};
      if (row.call.outputs.empty()) {
        row.call.outputs = figures.cold->outputs[i];
      }
      MeasuredCall warm = row;
      warm.conditions->is_cold = false;
      warm.counters.clear();
      warm.host = *stats_of(figures.cold->warm_s[i], kNanoOfSecond);
      warm.on_device = stats_of(figures.cold->warm_device_ms[i], kNanoOfMilli);
      rows.push_back(std::move(warm));
    }
    if (const auto* const sustained = figures.sustained;
        sustained != nullptr && !sustained->host_s[i].empty()) {
      MeasuredCall of_many = rows.back();
      of_many.conditions = {.is_sustained = true, .threads = at::get_num_threads()};
      of_many.host = *stats_of(sustained->host_s[i], kNanoOfSecond);
      of_many.on_device =
          of_many.on_device ? stats_of(sustained->device_ms[i], kNanoOfMilli) : std::nullopt;
      of_many.counters.clear();
      rows.push_back(std::move(of_many));
    }
  }
  return rows;
}

}  // namespace understudy::replayer
