#include "predictor/what_if/recorded_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"
#include "predictor/collectives/traffic.h"
#include "predictor/simulate/flow.h"
#include "predictor/simulate/recorded_step.h"
#include "recorded_waits.h"

namespace understudy::predictor {
namespace {

constexpr const char* kModel = "recorded";

/// Assumed host time of an operator that waits for its device: two calls of the runtime.
constexpr std::int64_t kWaitingCallNs = 10'000;

void refuse_unprofiled(const Job& job) {
  for (int rank = 0; rank < job.world_size(); ++rank) {
    if (!job.program(rank).profile) {
      throw et_schema::usage_error(
          "the benchmark does not say how long its operators took",
          {.rank = rank,
           .expected = "a benchmark that a profile was linked to",
           .got = "no recorded times",
           .hint = "Make the benchmark anew with `understudy generate --profile`, from a Kineto "
                   "profile of the same step; a folder that scripts/capture wrote holds one. Or "
                   "name a --card."});
    }
  }
}

/// Returns the host time of each instruction of a program without a shown step.
std::vector<std::int64_t> host_times(const Program& program, const Flow& flow) {
  std::vector<std::int64_t> times_ns(program.instructions.size());
  std::vector<std::int64_t> next_ns(flow.timelines.size(), program.profile->step_ns);
  for (std::size_t at = times_ns.size(); at-- > 0;) {
    const Instruction& instruction = program.instructions[at];
    if (!instruction.timing) {
      continue;
    }
    std::int64_t& next = next_ns[flow.instructions[at].timeline];
    times_ns[at] = instruction.timing->host_ns;
    if (flow.instructions[at].waits_for_stream) {
      times_ns[at] = std::min(times_ns[at], kWaitingCallNs);
    } else if (instruction.kind == InstructionKind::kNative) {
      // A compiled graph without kernels in the profile comes after its operators: most of its time
      // is in the gaps between them.
      const std::int64_t room_ns = std::max<std::int64_t>(next - instruction.timing->start_ns, 0);
      times_ns[at] = std::min(times_ns[at], room_ns);
    }
    next = instruction.timing->start_ns;
  }
  return times_ns;
}

}  // namespace

RecordedCosts::RecordedCosts(const Job& job) : is_partial_(job.is_partial) {
  refuse_unprofiled(job);
  for (const Program* program : job.programs) {
    add(*program, flow_of(*program));
  }
}

OperatorCost RecordedCosts::of_operator(const Program& program,
                                        const Instruction& instruction) const {
  const Row& row = row_of(program, instruction);
  OperatorCost cost;
  if (!instruction.timing) {
    cost.host.model = "not in the profile";
    cost.host.modelled = instruction.kind != InstructionKind::kOp &&
                         instruction.kind != InstructionKind::kNative &&
                         instruction.kind != InstructionKind::kKernel;
    return cost;
  }
  cost.host = known(row.host_ns, kModel);
  cost.device = known(row.device_ns, kModel);
  cost.launches = row.launches;
  return cost;
}

double RecordedCosts::page_faults_of(const Program& program, const Instruction& instruction) const {
  const auto faults = static_cast<double>(program.profile->minor_faults.value_or(0));
  return faults * row_of(program, instruction).share;
}

Estimate RecordedCosts::of_gap(const Program& program, const Instruction& instruction) const {
  return known(row_of(program, instruction).gap_ns, kModel);
}

std::optional<Estimate> RecordedCosts::of_end(const Program& program) const {
  const auto found = ends_.find(&program);
  return found == ends_.end() ? std::nullopt : std::optional(known(found->second, kModel));
}

Estimate RecordedCosts::of_communication(const GroupComm& call) const {
  return scaled_to_ranks(recorded_communication(call), call);
}

/// Returns the shortest recorded time of all ranks: the rank that joined last did not wait for
/// others. If no time was recorded, estimates from the bytes.
Estimate RecordedCosts::recorded_communication(const GroupComm& call) const {
  std::optional<double> least_ns;
  for (const Instruction* side : call.sides) {
    if (const std::optional<double> ns = observed_ns(*side)) {
      least_ns = std::min(least_ns.value_or(*ns), *ns);
    }
  }
  if (least_ns) {
    return known(*least_ns, kModel);
  }
  if (call.ranks == 1 && call.recorded_ranks < 2) {
    return known(0, kModel);  // a group of one rank moves nothing
  }
  const auto bytes = static_cast<double>(call.bytes);
  if (ns_per_byte_) {
    Estimate estimate = known(bytes * *ns_per_byte_, "recorded rate");
    estimate.low_ns = 0;
    estimate.high_ns *= 2;
    return estimate;
  }
  Estimate assumed = assumed_communication(call);
  assumed.modelled = call.kind == CommKind::kBarrier;
  return assumed;
}

std::optional<double> RecordedCosts::observed_ns(const Instruction& call) const {
  const auto found = communications_.find(&call);
  return found == communications_.end() ? std::nullopt : std::optional(found->second);
}

const RecordedCosts::Row& RecordedCosts::row_of(const Program& program,
                                                const Instruction& instruction) const {
  return rows_.at(&program)[static_cast<std::size_t>(&instruction - program.instructions.data())];
}

void RecordedCosts::add(const Program& program, const Flow& flow) {
  const RecordedStep step = recorded_step(program, flow);
  const bool is_shown = !program.device_work.empty();
  const ObservedComms seen = observed_comms(program, flow, step);
  const std::vector<std::int64_t> host_ns = host_times(program, flow);
  std::vector<Row>& rows = rows_[&program];
  rows.resize(program.instructions.size());
  if (is_shown) {
    ends_[&program] = static_cast<double>(step.end.host_ns);
  }
  bool is_first = true;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const Instruction& instruction = program.instructions[at];
    if (!instruction.timing) {
      continue;
    }
    Row& row = rows[at];
    row.host_ns = static_cast<double>(seen.call_is_wait[at] ? 0
                                      : is_shown            ? step.calls[at].host_ns
                                                            : host_ns[at]);
    row.gap_ns = seen.gap_is_wait[at] ? 0 : static_cast<double>(step.gaps[at].host_ns);
    if (!is_shown && is_first && flow.instructions[at].timeline == 0) {
      // Iterations follow each other: time after the last operator counts before the first.
      row.gap_ns += static_cast<double>(step.end.host_ns);
      is_first = false;
    }
    if (is_communication(instruction)) {
      note_communication(program, instruction, seen.of_instruction[at]);
    } else {
      row.device_ns = static_cast<double>(instruction.timing->device_ns);
      row.launches = instruction.timing->launches;
    }
  }
  // A call takes from the begin of its first device work to the end of its last one.
  struct Works {
    std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t end_ns = 0;
    double sum_ns = 0;
  };
  std::map<const Instruction*, Works> works_of;
  for (const et_schema::DeviceWork& work : program.device_work) {
    const Instruction* call = work.instruction ? &program.instructions[*work.instruction] : nullptr;
    if (call != nullptr && is_communication(*call)) {
      Works& works = works_of[call];
      works.begin_ns = std::min(works.begin_ns, work.start_ns);
      works.end_ns = std::max(works.end_ns, work.end_ns());
      works.sum_ns += static_cast<double>(work.device_ns);
    }
  }
  for (const auto& [call, works] : works_of) {
    const auto ns = static_cast<double>(works.end_ns - works.begin_ns);
    if (is_partial_) {
      communications_[call] = ns;  // calls keep their recorded waits for other ranks
    } else if (const auto found = communications_.find(call);
               found != communications_.end() && works.sum_ns > 0) {
      found->second *= ns / works.sum_ns;
    }
  }
  double all_ns = 0;
  for (const Row& row : rows) {
    all_ns += row.host_ns;
  }
  for (Row& row : rows) {
    row.share = all_ns > 0 ? row.host_ns / all_ns : 0;
  }
}

void RecordedCosts::note_communication(const Program& program, const Instruction& call,
                                       const std::optional<ObservedComm>& seen) {
  if (call.timing->launches > 0) {
    communications_[&call] = static_cast<double>(call.timing->device_ns);
  } else if (seen) {
    communications_[&call] = static_cast<double>(seen->ns);
    const auto bytes = static_cast<double>(argument_bytes(program, call, 0));
    if (seen->is_whole && bytes > 0) {
      ns_per_byte_ = std::min(ns_per_byte_.value_or(std::numeric_limits<double>::infinity()),
                              static_cast<double>(seen->ns) / bytes);
    }
  }
}

Estimate scaled_to_ranks(Estimate estimate, const GroupComm& call) {
  const int seen_ranks = call.recorded_ranks;
  if (seen_ranks == 0 || call.ranks == seen_ranks) {
    return estimate;
  }
  const double seen = et_schema::bus_factor(call.kind, seen_ranks);
  if (seen <= 0 || (seen_ranks < 2 && call.ranks > 1)) {
    throw et_schema::usage_error(
        "a job of one rank does not show what its communication takes",
        {.field = "--world-size",
         .expected = "a benchmark of two ranks or more",
         .got = fmt::format("{} of {} rank", et_schema::to_string(call.kind), seen_ranks),
         .hint = "take --platform, whose models know collectives"});
  }
  // The recorded time does not show which part of it is latency. Its share is taken as in the
  // assumed time. Latency grows with the steps, the rest with the link bytes.
  const double latency_ns = assumed_ns(call.kind, 0, seen_ranks);
  const double longer = assumed_ns(call.kind, 0, call.ranks) / latency_ns;
  const double larger = et_schema::bus_factor(call.kind, call.ranks) / seen;
  const double share =
      latency_ns / assumed_ns(call.kind, static_cast<double>(call.bytes), seen_ranks);
  estimate.ns *= share * longer + (1 - share) * larger;
  estimate.low_ns *= std::min({1.0, longer, larger});
  estimate.high_ns *= std::max(longer, 1.0) * std::max(larger, 1.0);
  estimate.extrapolated = true;
  return estimate;
}

}  // namespace understudy::predictor
