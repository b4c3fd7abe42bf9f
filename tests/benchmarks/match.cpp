// How long it takes to match all ranks' communications against each other, from their programs, and
// how much memory that takes beside the programs.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "generator/matching/matching.h"
#include "peak_memory.h"

namespace understudy {
namespace {

using et_schema::Argument;
using et_schema::CommKind;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;

constexpr double kMega = 1e6;

/// `calls` communications of 64 tensors in turn, each behind an operator that reads the tensor of
/// the one before it; every other one is joined by that.
Program make_program(CommKind kind, int ranks, int calls) {
  Program program;
  constexpr std::int64_t kTensors = 64;
  for (std::int64_t i = 0; i < kTensors; ++i) {
    program.storages.push_back({.device = et_schema::parse_device("cuda:0"), .bytes = 4096});
    et_schema::Slot& slot = program.slots.emplace_back();
    slot.storage = static_cast<et_schema::StorageId>(i);
    slot.dtype = et_schema::DType::kFloat32;
    slot.sizes = {ranks * (i + 1), 16};
  }
  for (int i = 0; i < calls; ++i) {
    const auto tensor_at = [&](int at) {
      return Argument{Argument::SlotRef{static_cast<et_schema::SlotId>(at % kTensors)}};
    };
    Instruction& reader = program.instructions.emplace_back();
    reader.name = "aten::mm";
    reader.args = {tensor_at(i + kTensors - 1)};
    Instruction& call = program.instructions.emplace_back();
    call.kind = InstructionKind::kCollective;
    call.args = {{Argument::List{tensor_at(i)}}, {Argument::List{tensor_at(i)}}};
    call.comm.emplace().kind = kind;
    call.comm->is_async = i % 2 == 0;
  }
  return program;
}

/// Uneven splits: what rank r sends to rank p it takes from no other call.
void set_splits(Program& program, int rank, int ranks) {
  for (std::size_t i = 1; i < program.instructions.size(); i += 2) {
    et_schema::CommInfo& comm = *program.instructions[i].comm;
    comm.in_splits.assign(static_cast<std::size_t>(ranks), 0);
    const std::int64_t rows =
        program
            .slots[std::get<Argument::SlotRef>(
                       std::get<Argument::List>(program.instructions[i].args[0].value)[0].value)
                       .id]
            .sizes[0];
    // Rank r sends all its rows but `shift` evenly, and `shift` more to itself.
    const std::int64_t each = rows / ranks;
    const std::int64_t shift = each > 1 ? 1 : 0;
    for (int peer = 0; peer < ranks; ++peer) {
      comm.in_splits[static_cast<std::size_t>(peer)] = each - (peer == rank ? 0 : shift);
    }
    comm.in_splits[static_cast<std::size_t>(rank)] += shift * (ranks - 1);
    comm.out_splits = comm.in_splits;
  }
}

/// Matches a job whose ranks' programs `set` makes of one, as they differ in a file.
void measure(const char* name, CommKind kind, int ranks, int calls,
             const std::function<void(Program&, int)>& set) {
  using Clock = std::chrono::steady_clock;
  Program program = make_program(kind, ranks, calls);
  const std::vector<et_schema::ProcessGroup> groups = {
      {.name = "world", .description = "", .backend = "nccl", .ranks = {}, .size = ranks}};
  const double before_bytes = peak_bytes();
  std::chrono::duration<double> spent{};
  matching::JobComms comms(groups, static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    set(program, rank);
    const Clock::time_point begin = Clock::now();
    comms.add(static_cast<std::size_t>(rank), program);
    spent += Clock::now() - begin;
  }
  const Clock::time_point begin = Clock::now();
  const matching::Matching found = match(comms);
  spent += Clock::now() - begin;
  fmt::print("{}: {:.3f} s, {:.0f} MB, {} different calls, {} mismatches\n", name, spent.count(),
             (peak_bytes() - before_bytes) / kMega, comms.distinct(), found.mismatches.size());
}

void run() {
  const auto shift_nodes = [](Program& program, int rank) {
    for (et_schema::Instruction& instruction : program.instructions) {
      instruction.node_id = static_cast<std::uint64_t>(rank);
    }
  };
  // The first has a limit of memory, of which later ones would only show what they take above it.
  measure("1,024 ranks, 1,000 collectives", CommKind::kAllReduce, 1024, 1000, shift_nodes);
  measure("8 ranks, 100,000 collectives", CommKind::kAllReduce, 8, 100'000, shift_nodes);
  measure("256 ranks, 200 uneven all_to_allv", CommKind::kAllToAllV, 256, 200,
          [](Program& program, int rank) { set_splits(program, rank, 256); });
}

}  // namespace
}  // namespace understudy

int main() {
  understudy::run();
}
