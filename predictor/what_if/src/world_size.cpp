#include "predictor/what_if/world_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "et_schema/model/comm_traits.h"
#include "et_schema/support/error.h"
#include "predictor/collectives/traffic.h"
#include "predictor/simulate/flow.h"

namespace understudy::predictor {
namespace {

/// `node`: of the trace; 0 behind the last one.
[[noreturn]] void refuse_world_size(int rank, std::uint64_t node, std::string expected,
                                    std::string got,
                                    std::string hint = "capture the job on that number of ranks") {
  et_schema::ErrorContext context;
  context.rank = rank;
  if (node != 0) {
    context.node = node;
  }
  context.field = "--world-size";
  context.expected = std::move(expected);
  context.got = std::move(got);
  context.hint = std::move(hint);
  throw et_schema::bad_input("the job cannot be scaled to another number of ranks",
                             std::move(context));
}

void check_calls(const Job& job, int rank, const std::optional<GatherSize>& gathers) {
  for (const Instruction& instruction : job.program(rank).instructions) {
    if (!is_communication(instruction)) {
      continue;
    }
    const et_schema::CommInfo& comm = *instruction.comm;
    const auto name = et_schema::to_string(comm.kind);
    if (et_schema::is_message(comm.kind)) {
      refuse_world_size(rank, instruction.node_id, "collectives of the whole job",
                        fmt::format("a {}", name));
    }
    if (job.members_of(comm.group).size() != static_cast<std::size_t>(job.world_size())) {
      refuse_world_size(
          rank, instruction.node_id, "collectives of the whole job",
          fmt::format("{} in group '{}' of {} ranks", name, job.groups[comm.group].name,
                      job.members_of(comm.group).size()));
    }
    if (is_gather_or_scatter(comm.kind) && !gathers) {
      refuse_world_size(rank, instruction.node_id, "--gathers whole or --gathers parts",
                        fmt::format("{}, of which either stays as large", name),
                        "whole: parameters of which each rank has a part (FSDP, ZeRO); parts: data "
                        "that each rank adds");
    }
  }
}

std::vector<const Instruction*> work_of(const Program& program) {
  std::vector<const Instruction*> work;
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != InstructionKind::kMarker &&
        instruction.kind != InstructionKind::kAlias) {
      work.push_back(&instruction);
    }
  }
  return work;
}

/// All ranks call the same operators in the same order.
void check_alike(const Job& job) {
  const std::vector<const Instruction*> first = work_of(job.program(0));
  for (int rank = 1; rank < job.world_size(); ++rank) {
    const std::vector<const Instruction*> other = work_of(job.program(rank));
    const auto [a, b] = std::mismatch(
        first.begin(), first.end(), other.begin(), other.end(),
        [](const Instruction* x, const Instruction* y) { return x->name == y->name; });
    if (a != first.end() || b != other.end()) {
      const auto name = [](const auto& at, const auto& end) {
        return at == end ? std::string("the step's end") : (*at)->name;
      };
      const std::uint64_t node = b != other.end() ? (*b)->node_id : 0;
      refuse_world_size(rank, node, fmt::format("{}, as rank 0 calls there", name(a, first.end())),
                        name(b, other.end()));
    }
  }
}

}  // namespace

Job with_world_size(const Job& job, int ranks, std::optional<GatherSize> gathers) {
  if (job.is_partial) {
    throw et_schema::bad_input("the job cannot be scaled to another number of ranks",
                               {.field = "--world-size",
                                .expected = "a benchmark of all ranks of its job",
                                .got = "some of them",
                                .hint = "generate it from the traces of all ranks"});
  }
  for (int rank = 0; rank < job.world_size(); ++rank) {
    check_calls(job, rank, gathers);
  }
  check_alike(job);
  Job scaled = job;
  scaled.scaled_from = {job.world_size(), gathers.value_or(GatherSize::kWhole)};
  scaled.start_ns.clear();
  scaled.kept_apart.clear();
  scaled.program_of.clear();
  for (int rank = 0; rank < ranks; ++rank) {
    const auto source = static_cast<std::size_t>(rank % job.world_size());
    scaled.program_of.push_back(job.program_of[source]);
  }
  if (ranks < job.world_size()) {
    scaled.program_of.assign(job.program_of.begin(), job.program_of.begin() + ranks);
  }
  for (et_schema::ProcessGroup& group : scaled.groups) {
    if (group.ranks.empty() || group.ranks.size() == job.program_of.size()) {
      group.ranks.clear();
      group.size = ranks;
    }
  }
  return scaled;
}

ScaledCommunication::ScaledCommunication(const Costs& costs, int seen_ranks)
    : costs_(costs), seen_ranks_(seen_ranks) {}

OperatorCost ScaledCommunication::of_operator(const Program& program,
                                              const Instruction& instruction) const {
  return costs_.of_operator(program, instruction);
}

Estimate ScaledCommunication::of_gap(const Program& program, const Instruction& instruction) const {
  return costs_.of_gap(program, instruction);
}

Estimate ScaledCommunication::of_communication(const CommCall& call) const {
  const et_schema::BusFactor bus = et_schema::traits(call.kind).bus;
  const double seen = et_schema::value_of(bus, seen_ranks_);
  if (seen <= 0 || (seen_ranks_ < 2 && call.ranks > 1)) {
    throw et_schema::usage_error(
        "a job of one rank does not show what its communication takes",
        {.field = "--world-size",
         .expected = "a benchmark of two ranks or more",
         .got = fmt::format("{} of {} rank", et_schema::to_string(call.kind), seen_ranks_),
         .hint = "take --platform, whose models know collectives"});
  }
  Estimate estimate = costs_.of_communication(call);
  if (call.ranks == seen_ranks_) {
    return estimate;
  }
  const auto bytes = static_cast<double>(call.bytes);
  const Traffic before = traffic_of(call.kind, bytes / call.size_factor, seen_ranks_);
  const double longer = traffic_of(call.kind, bytes, call.ranks).steps / before.steps;
  const double larger = et_schema::value_of(bus, call.ranks) / seen * call.size_factor;
  const auto factor = [&](double step_ns) {
    const double latency_ns = step_ns * before.steps;
    const double share = latency_ns / (latency_ns + kAssumedNsPerByte * before.link_bytes);
    return share * longer + (1 - share) * larger;
  };
  // How much of the recorded time is latency is not recorded: ten times less or more than assumed.
  const auto [least, most] =
      std::minmax({1.0, factor(kAssumedStepNs / 10), factor(kAssumedStepNs * 10)});
  // At worst a tree's depth more of everything, as where another node begins.
  const double depth = std::log2(std::max(call.ranks, 2)) / std::log2(std::max(seen_ranks_, 2));
  estimate.ns *= factor(kAssumedStepNs);
  estimate.low_ns *= least;
  estimate.high_ns *= std::max(most, std::max(larger, 1.0) * std::max(depth, 1.0));
  estimate.extrapolated = true;
  return estimate;
}

}  // namespace understudy::predictor
