#include "predictor/simulate/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "et_schema/base/figures.h"
#include "et_schema/base/interval.h"
#include "et_schema/base/map_values.h"
#include "et_schema/base/stretches.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/open_comms.h"
#include "et_schema/model/original_step.h"

namespace understudy::predictor {
namespace {

using et_schema::Interval;
using et_schema::PredictedBreakdown;
using et_schema::PredictedOperator;
using et_schema::PredictedSum;
using et_schema::Prediction;

Interval ms_of(const Estimate& estimate) {
  return {estimate.ns * kMsPerNs, estimate.low_ns * kMsPerNs, estimate.high_ns * kMsPerNs};
}

PredictedBreakdown ms_of(const Breakdown& breakdown) {
  return {breakdown.compute_ns * kMsPerNs, breakdown.exposed_communication_ns * kMsPerNs,
          breakdown.host_bound_ns * kMsPerNs, breakdown.idle_ns * kMsPerNs};
}

std::string class_of(const Instruction& instruction) {
  const bool is_communication =
      communicates(instruction) || et_schema::mostly_communicates(instruction);
  return std::string(is_communication ? "communication" : et_schema::op_class(instruction.name));
}

/// Returns the class that waits least for others and so determines the iteration.
const RankClass& slowest(const std::vector<RankClass>& classes) {
  const auto rest_ns = [](const RankClass& rank) {
    return rank.iteration_ns - rank.breakdown.exposed_communication_ns - rank.breakdown.idle_ns;
  };
  return *std::ranges::max_element(classes, {}, rest_ns);
}

/// Returns the estimate of what the instruction is for: data moved, or work where it runs.
const Estimate& main_cost(const Instruction& instruction, const PlayedCost& cost) {
  return is_communication(instruction) ? cost.communication
         : cost.cost.launches > 0      ? cost.cost.device
                                       : cost.cost.host;
}

PredictedOperator operator_row(std::size_t at, const Instruction& instruction,
                               const PlayedCost& cost) {
  const Estimate& main = main_cost(instruction, cost);
  return {.instruction = at,
          .name = instruction.name,
          .op_class = class_of(instruction),
          .ms = ms_of(main),
          .on_device = cost.cost.launches > 0,
          .host_ms = cost.cost.host.ns * kMsPerNs,
          .gap_ms = cost.gap.ns * kMsPerNs,
          .model = main.model,
          .extrapolated = main.extrapolated};
}

struct Doubt {
  std::string why;  ///< "no model", …; empty: there is no doubt
  double ns = 0;    ///< the time that is doubted
};

/// Returns what is hardly known of an operator's time, other than its gap.
Doubt doubt_of(const Instruction& instruction, const PlayedCost& cost) {
  constexpr double kMostBounds = 30;
  constexpr double kWidest = 3;
  const Estimate& host = cost.cost.host;
  const Estimate& main = main_cost(instruction, cost);
  if (!main.modelled) {
    return {"no model", main.ns};
  }
  if (cost.cost.launches > 0 && main.bound_ns > 0 && main.ns > kMostBounds * main.bound_ns) {
    return {fmt::format("above {} times its bound", kMostBounds), main.ns};
  }
  if (main.high_ns > kWidest * main.ns || main.ns > kWidest * main.low_ns) {
    return {fmt::format("not known within a factor of {}", kWidest), main.ns};
  }
  return host.modelled ? Doubt() : Doubt{"no model of the host", host.ns};
}

void add(double ms, PredictedSum& sum) {
  ++sum.count;
  sum.ms += ms;
}

/// On a device, sums by class are of the device's time.
void add_operators(const Program& program, const std::vector<PlayedCost>& costs, bool on_device,
                   Prediction& prediction) {
  std::map<std::string, PredictedSum> classes;
  std::map<std::pair<std::string, std::string>, PredictedSum> doubtful;
  for (std::size_t at = 0; at < program.instructions.size(); ++at) {
    const Instruction& instruction = program.instructions[at];
    if (instruction.kind == InstructionKind::kMarker ||
        instruction.kind == InstructionKind::kAlias) {
      continue;
    }
    PredictedOperator row = operator_row(at, instruction, costs[at]);
    if (!on_device || row.on_device || is_communication(instruction)) {
      add(row.ms.value, et_schema::row_named(row.op_class, classes));
    }
    if (const Doubt doubt = doubt_of(instruction, costs[at]); !doubt.why.empty()) {
      PredictedSum& sum = doubtful[{doubt.why, row.name}];
      sum.name = row.name;
      sum.where = doubt.why;
      add(doubt.ns * kMsPerNs, sum);
    }
    prediction.operators.push_back(std::move(row));
  }
  prediction.classes = et_schema::largest_first(std::move(classes), &PredictedSum::ms);
  prediction.doubtful = et_schema::largest_first(std::move(doubtful), &PredictedSum::ms);
}

std::string where_of(const Span& span, PathPiece::Part part) {
  if (part == PathPiece::Part::kLate || span.kind == SpanKind::kStall) {
    return "wait";
  }
  switch (span.kind) {
    case SpanKind::kDevice:
      return "device";
    case SpanKind::kMoving:
    case SpanKind::kArrived:
      return "communication";
    default:
      return part == PathPiece::Part::kGap ? "host gap" : "host";
  }
}

std::vector<PredictedSum> critical_path_of(const Job& job, const Simulation& simulation) {
  std::map<std::pair<std::string, std::string>, PredictedSum> rows;
  for (const PathPiece& piece : simulation.critical_path) {
    std::string name = "before the step";
    std::string where = "outside";
    if (!piece.span.is_none()) {
      const RankClass& rank = simulation.classes[piece.span.rank_class];
      const Span& span = rank.spans[piece.span.index];
      where = where_of(span, piece.part);
      name = name_of(*job.programs[rank.program], span);
    }
    PredictedSum& row = rows[{name, where}];
    row.name = name;
    row.where = where;
    add(static_cast<double>(piece.ns) * kMsPerNs, row);
  }
  return et_schema::largest_first(std::move(rows), &PredictedSum::ms);
}

/// Returns the path's time by part. Operators' host time counts as compute if the job runs on a
/// CPU, otherwise as host time.
PredictedBreakdown parts_of(const std::vector<PredictedSum>& path, bool on_device) {
  std::map<std::string_view, double> ms;
  for (const PredictedSum& row : path) {
    ms[row.where] += row.ms;
  }
  return {ms["device"] + (on_device ? 0 : ms["host"]), ms["communication"],
          ms["host gap"] + (on_device ? ms["host"] : 0), ms["wait"]};
}

/// Returns the largest part.
std::string bound_by(const PredictedBreakdown& parts) {
  const std::array<std::pair<double, const char*>, 4> all = {{
      {parts.exposed_communication, "communication"},
      {parts.compute, "compute"},
      {parts.host_bound, "host"},
      {parts.idle, "waits for something outside of the profile"},
  }};
  return std::ranges::max_element(all, {}, &std::pair<double, const char*>::first)->second;
}

/// Returns for how long of its last iteration the rank does nothing but wait for other ranks.
double waiting_ns(const RankClass& rank, bool on_device) {
  et_schema::Stretches work;
  et_schema::Stretches all;
  std::int64_t end_ns = 0;
  for (const Span& span : rank.spans) {
    const bool is_work = span.kind == SpanKind::kDevice || span.kind == SpanKind::kMoving ||
                         (span.kind == SpanKind::kHost && !on_device);
    if (is_work || span.kind == SpanKind::kArrived) {
      all.push_back({span.start_ns, span.end_ns});
    }
    if (is_work) {
      work.push_back(all.back());
    }
    end_ns = std::max(end_ns, span.end_ns);
  }
  const et_schema::Stretch last{end_ns - std::llround(rank.iteration_ns), end_ns};
  return static_cast<double>(covered_ns(merged_stretches(std::move(all)), last) -
                             covered_ns(merged_stretches(std::move(work)), last));
}

PredictedBreakdown breakdown_of(const RankClass& rank, const Simulation& simulation) {
  PredictedBreakdown parts = ms_of(rank.breakdown);
  parts.for_ranks = std::min(waiting_ns(rank, simulation.flows[rank.program].on_device) * kMsPerNs,
                             parts.exposed_communication);
  return parts;
}

/// Says so if ranks compute in turn, as in a pipeline: one waits for others while they compute.
std::string in_turn(const Prediction& prediction) {
  const PredictedBreakdown& rank = prediction.breakdown_ms;
  if (prediction.bound_by != "compute" || rank.exposed_communication <= rank.compute) {
    return "";
  }
  using et_schema::figure_text;
  return fmt::format(
      " of ranks in turn: of rank {}'s {} ms of exposed communication {} wait for other ranks",
      prediction.slowest_rank, figure_text(rank.exposed_communication),
      figure_text(rank.for_ranks));
}

}  // namespace

std::string name_of(const Program& program, const Span& span) {
  return span.instruction != kNoIndex ? program.instructions[span.instruction].name
         : span.work != kNoIndex      ? std::string(to_string(program.device_work[span.work].why))
                                      : "end of the step";
}

namespace {

/// Returns the estimate behind a part of a span; null if there is none.
const Estimate* estimate_of(const Simulation& simulation, const RankClass& rank, const Span& span,
                            PathPiece::Part part) {
  const bool is_work = span.kind == SpanKind::kDevice || span.kind == SpanKind::kMoving;
  if (span.instruction == kNoIndex) {
    return is_work && span.work != kNoIndex ? &simulation.outside[rank.program][span.work]
                                            : nullptr;
  }
  const PlayedCost& cost = simulation.costs[rank.program][span.instruction];
  if (is_work) {
    return cost.communication.ns > 0 ? &cost.communication : &cost.cost.device;
  }
  return span.kind != SpanKind::kHost    ? nullptr
         : part == PathPiece::Part::kGap ? &cost.gap
                                         : &cost.cost.host;
}

/// Returns the contributions to the critical path. Calls with equal estimates are one contribution,
/// because their errors are equal.
std::vector<Contribution> contributions_of(const Job& job, const Simulation& simulation) {
  std::map<std::tuple<std::string, double, double, double>, Contribution> equal;
  for (const PathPiece& piece : simulation.critical_path) {
    if (piece.span.is_none() || piece.part == PathPiece::Part::kLate) {
      continue;
    }
    const RankClass& rank = simulation.classes[piece.span.rank_class];
    const Span& span = rank.spans[piece.span.index];
    const Estimate* const estimate = estimate_of(simulation, rank, span, piece.part);
    if (estimate == nullptr || estimate->ns <= 0) {
      continue;
    }
    Contribution& sum = equal[{estimate->model, estimate->ns, estimate->low_ns, estimate->high_ns}];
    // A piece that is a share of the estimate's time has the same share of its interval.
    const double part_ms = static_cast<double>(piece.ns) / estimate->ns * kMsPerNs;
    sum.below_ms += part_ms * std::max(estimate->ns - estimate->low_ns, 0.0);
    sum.above_ms += part_ms * std::max(estimate->high_ns - estimate->ns, 0.0);
    sum.model = estimate->model;
    const Program& program = *job.programs[rank.program];
    const bool is_host = span.kind == SpanKind::kHost && simulation.flows[rank.program].on_device;
    sum.what = fmt::format("{} ({})", sum.model,
                           is_host ? "host"
                           : span.instruction == kNoIndex
                               ? name_of(program, span)
                               : class_of(program.instructions[span.instruction]));
  }
  return et_schema::values_of(std::move(equal));
}

}  // namespace

void widen(const std::string& what, double below_ms, double above_ms, Prediction& prediction) {
  auto& [ms, low_ms, high_ms] = prediction.iteration_ms;
  low_ms = std::max(ms - et_schema::root_sum_square(ms - low_ms, below_ms), 0.0);
  high_ms = ms + et_schema::root_sum_square(high_ms - ms, above_ms);
  std::vector<et_schema::IntervalPart>& parts = prediction.interval_parts;
  if (below_ms <= 0 && above_ms <= 0) {
    return;
  }
  auto part = std::ranges::find(parts, what, &et_schema::IntervalPart::name);
  part = part == parts.end() ? parts.insert(part, {what, 0}) : part;
  part->variance_ms2 += below_ms * below_ms + above_ms * above_ms;
  std::ranges::stable_sort(parts, std::greater(), &et_schema::IntervalPart::variance_ms2);
}

void widen_by_costs(const std::vector<Contribution>& contributions, Prediction& prediction) {
  std::map<std::string, Contribution> models;
  for (const Contribution& one : contributions) {
    models[one.model].below_ms += one.below_ms;
    models[one.model].above_ms += one.above_ms;
  }
  const auto with_common = [](double own, double of_model) {
    return std::sqrt(own * ((1 - kCommonShare) * own + kCommonShare * of_model));
  };
  for (const Contribution& one : contributions) {
    const Contribution& model = models[one.model];
    widen(one.what, with_common(one.below_ms, model.below_ms),
          with_common(one.above_ms, model.above_ms), prediction);
  }
}

Prediction prediction_of(const Job& job, const Simulation& simulation) {
  Prediction prediction;
  prediction.world_size = job.world_size();
  const double ms = simulation.iteration_ns * kMsPerNs;
  prediction.iteration_ms = {ms, ms, ms};
  widen_by_costs(contributions_of(job, simulation), prediction);
  widen("the simulator", kSimulatorSpread * ms, kSimulatorSpread * ms, prediction);
  for (const RankClass& rank : simulation.classes) {
    for (const int number : rank.ranks) {
      prediction.ranks.push_back(
          {number, rank.iteration_ns * kMsPerNs, breakdown_of(rank, simulation), {}});
    }
  }
  std::ranges::sort(prediction.ranks, {}, &et_schema::PredictedRank::rank);
  const RankClass& shown = slowest(simulation.classes);
  prediction.slowest_rank = shown.ranks.front();
  prediction.breakdown_ms = breakdown_of(shown, simulation);
  add_operators(*job.programs[shown.program], simulation.costs[shown.program],
                simulation.flows[shown.program].on_device, prediction);
  prediction.critical_path = critical_path_of(job, simulation);
  prediction.bound_ms =
      parts_of(prediction.critical_path, simulation.flows[shown.program].on_device);
  prediction.bound_by = bound_by(prediction.bound_ms);
  prediction.bound_by += in_turn(prediction);
  return prediction;
}

std::vector<UnheldTime> unheld_times(const Program& program, const std::vector<PlayedCost>& costs,
                                     const std::vector<Estimate>& outside) {
  std::map<std::string, UnheldTime> rows;
  const auto add = [&rows](const et_schema::KernelClassTimes& classes, std::string_view held_by,
                           std::int64_t device_ns, const Estimate& estimate) {
    for (const auto& [kernel_class, share] : et_schema::class_shares(classes)) {
      UnheldTime& row = et_schema::row_named(fmt::format("{} ({})", kernel_class, held_by), rows);
      row.recorded_ms += static_cast<double>(device_ns) * kMsPerNs * share;
      row.modelled &= estimate.modelled;
    }
  };
  for (std::size_t at = 0; at < program.instructions.size(); ++at) {
    const Instruction& instruction = program.instructions[at];
    const bool is_unheld = instruction.kind == InstructionKind::kNative ||
                           instruction.kind == InstructionKind::kKernel;
    if (is_unheld && instruction.timing && instruction.timing->device_ns > 0) {
      add(instruction.timing->kernel_classes, kind_text(instruction), instruction.timing->device_ns,
          costs[at].cost.device);
    }
  }
  for (std::size_t i = 0; i < outside.size(); ++i) {
    const et_schema::DeviceWork& work = program.device_work[i];
    if (!work.instruction) {
      add(classes_of(program, work.why), to_string(work.why), work.device_ns, outside[i]);
    }
  }
  return et_schema::largest_first(std::move(rows), &UnheldTime::recorded_ms);
}

void add_recorded_steps(const Job& job, const Simulation& simulation, Prediction& prediction) {
  for (const RankClass& rank : simulation.classes) {
    for (const int number : rank.ranks) {
      const Program& program = job.program(number);
      if (!program.profile) {
        continue;
      }
      auto& step = prediction.ranks[static_cast<std::size_t>(number)].recorded_step.emplace();
      step.recorded_ms = static_cast<double>(et_schema::recorded_step_ns(program)) * kMsPerNs;
      // If steps overlap, the step is as long as an iteration.
      step.predicted_ms =
          kMsPerNs * (program.profile->host_runs_ahead ? rank.iteration_ns
                                                       : static_cast<double>(rank.first_step_ns));
      if (const auto& ns = program.profile->unprofiled_step_ns) {
        step.unprofiled_ms = static_cast<double>(*ns) * kMsPerNs;
      }
    }
  }
}

void widen_by_observer(const Job& job, Prediction& prediction) {
  const auto& profile = job.program(prediction.slowest_rank).profile;
  if (!profile || profile->steps == 0 || profile->step_ns <= 0 ||
      profile->observer_source == et_schema::kObserverMeasured) {
    return;
  }
  const double events = static_cast<double>(profile->events) / static_cast<double>(profile->steps);
  const double share = std::min(
      events * profile->observer_ns_per_event / static_cast<double>(profile->step_ns), 1.0);
  double host_ms = 0;
  for (const PredictedSum& row : prediction.critical_path) {
    host_ms += row.where == "host" || row.where == "host gap" ? row.ms : 0;
  }
  if (!(share > 0)) {
    return;
  }
  widen("the profiler's cost", share * host_ms, 0, prediction);
  prediction.assumptions.push_back(fmt::format(
      "nobody measured what recording an event cost: {:.1f} us, the profile's cheapest, are taken "
      "out of each; as much again may be in the host's times, and the interval reaches as far down",
      profile->observer_ns_per_event * 1e-3));
}

void widen_by_recorded_steps(const Job& job, const std::vector<et_schema::PredictedRank>& played,
                             Prediction& prediction) {
  double below = 0;
  double above = 0;
  const auto reach = [&](const char* what, int rank, double took_ms, double played_ms) {
    const double change = played_ms > 0 ? took_ms / played_ms - 1 : 0;
    if (std::abs(change) <= kSimulatorSpread || (change < 0 ? -change <= below : change <= above)) {
      return;
    }
    (change < 0 ? below : above) = std::abs(change);
    prediction.assumptions.push_back(
        fmt::format("the {} step of rank {} took {:.3f} ms and is played as {:.3f}: the interval "
                    "reaches as far {}",
                    what, rank, took_ms, played_ms, change < 0 ? "down" : "up"));
  };
  for (const et_schema::PredictedRank& rank : played) {
    if (const std::optional<et_schema::PredictedRecordedStep>& step = rank.recorded_step) {
      reach("recorded", rank.rank, step->recorded_ms, step->predicted_ms);
      const double unprofiled_ms = step->unprofiled_ms.value_or(rank.iteration_ms);
      reach("unprofiled", rank.rank, unprofiled_ms, rank.iteration_ms);
      // As many other unprofiled steps would have another median.
      const auto& profile = job.program(rank.rank).profile;
      if (profile && profile->unprofiled_interval) {
        const et_schema::StepInterval& bounds = *profile->unprofiled_interval;
        const auto ratio_of = [&](std::int64_t ns) {
          return static_cast<double>(ns) * kMsPerNs / unprofiled_ms;
        };
        below = std::max(below, 1 - ratio_of(bounds.low_ns));
        above = std::max(above, ratio_of(bounds.high_ns) - 1);
      }
    }
  }
  const double ms = prediction.iteration_ms.value;
  widen("the recorded steps", below * ms, above * ms, prediction);
}

}  // namespace understudy::predictor
