#include "program_differences.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"

namespace understudy::et_schema {
namespace {

template <typename Instructions, typename Pointer>
void flatten(Instructions& instructions, std::vector<Pointer>& flat) {
  for (auto& instruction : instructions) {
    flat.push_back(&instruction);
    flatten(instruction.body, flat);
  }
}

template <typename Arguments, typename Visitor>
void visit_argument_devices(Arguments& arguments, const Visitor& visit) {
  for (auto& argument : arguments) {
    if (auto* device = std::get_if<Argument::DeviceRef>(&argument.value)) {
      visit(device->device);
    } else if (auto* list = std::get_if<Argument::List>(&argument.value)) {
      visit_argument_devices(*list, visit);
    }
  }
}

// Visits devices in the order in which the program's text names them.
template <typename AnyProgram, typename AnyInstruction, typename Visitor>
void visit_devices(AnyProgram& program, const std::vector<AnyInstruction*>& instructions,
                   const Visitor& visit) {
  for (auto& storage : program.storages) {
    visit(storage.device);
  }
  for (AnyInstruction* instruction : instructions) {
    visit_argument_devices(instruction->args, visit);
    visit_argument_devices(instruction->results, visit);
  }
}

std::vector<Device> distinct_devices(const Program& program,
                                     const std::vector<const Instruction*>& instructions) {
  std::vector<Device> devices;
  visit_devices(program, instructions, [&devices](const Device& device) {
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
      devices.push_back(device);
    }
  });
  return devices;
}

/// Members of a CommInfo or of a difference that may differ between ranks of the same behaviour.
auto own_parts(auto& comm) {
  return std::tie(comm.root_or_peer, comm.seq, comm.in_splits, comm.out_splits);
}

[[noreturn]] void fail(const std::string& file, int rank, const std::string& field,
                       std::string expected, std::uint64_t got) {
  throw bad_input("the benchmark's manifest does not fit its programs",
                  {.file = file,
                   .rank = rank,
                   .field = "differences." + field,
                   .expected = std::move(expected),
                   .got = std::to_string(got),
                   .hint = "make the benchmark again with `generate`"});
}

void shift_nodes(const ProgramDifferences& differences, const std::vector<Instruction*>& flat,
                 const std::string& file, int rank) {
  for (std::size_t k = 0; k < differences.nodes.size(); ++k) {
    const ProgramDifferences::NodeShift& run = differences.nodes[k];
    const bool is_last = k + 1 == differences.nodes.size();
    const std::uint64_t end = is_last ? flat.size() : differences.nodes[k + 1].first;
    if (run.first >= flat.size() || end <= run.first) {
      fail(file, rank, "nodes", "rising instruction numbers below " + std::to_string(flat.size()),
           run.first);
    }
    for (std::uint64_t i = run.first; i < end && i < flat.size(); ++i) {
      flat[i]->node_id += std::bit_cast<std::uint64_t>(run.shift);
    }
  }
}

}  // namespace

ProgramDifferences differences(const Program& shared, const Program& program) {
  std::vector<const Instruction*> from;
  std::vector<const Instruction*> to;
  flatten(shared.instructions, from);
  flatten(program.instructions, to);
  UNDERSTUDY_ASSERT(from.size() == to.size());

  ProgramDifferences result;
  const std::vector<Device> shared_devices = distinct_devices(shared, from);
  const std::vector<Device> devices = distinct_devices(program, to);
  UNDERSTUDY_ASSERT(shared_devices.size() == devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (shared_devices[i] != devices[i]) {
      result.devices.emplace_back(shared_devices[i], devices[i]);
    }
  }
  std::int64_t shift = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto here = std::bit_cast<std::int64_t>(to[i]->node_id - from[i]->node_id);
    if (here != shift) {
      result.nodes.push_back({i, here});
      shift = here;
    }
    if (to[i]->comm && own_group(result.groups, from[i]->comm->group) != to[i]->comm->group) {
      result.groups.push_back({from[i]->comm->group, to[i]->comm->group});
    }
    if (to[i]->comm && own_parts(*from[i]->comm) != own_parts(*to[i]->comm)) {
      ProgramDifferences::Comm& own = result.comms.emplace_back();
      own.instruction = i;
      own_parts(own) = own_parts(*to[i]->comm);
    }
  }
  return result;
}

void apply(const ProgramDifferences& differences, Program& program, const std::string& file,
           int rank) {
  std::vector<Instruction*> flat;
  flatten(program.instructions, flat);
  shift_nodes(differences, flat, file, rank);
  for (const ProgramDifferences::Comm& difference : differences.comms) {
    const std::uint64_t index = difference.instruction;
    if (index >= flat.size() || !flat[index]->comm) {
      fail(file, rank, "comms", "the number of an instruction that communicates", index);
    }
    own_parts(*flat[index]->comm) = own_parts(difference);
  }
  if (differences.devices.empty()) {
    return;
  }
  visit_devices(program, flat, [&differences](Device& device) {
    const auto found = std::find_if(differences.devices.begin(), differences.devices.end(),
                                    [&device](const auto& pair) { return pair.first == device; });
    if (found != differences.devices.end()) {
      device = found->second;
    }
  });
}

}  // namespace understudy::et_schema
