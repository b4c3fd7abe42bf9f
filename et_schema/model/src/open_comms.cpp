#include "et_schema/model/open_comms.h"

#include <algorithm>

namespace understudy::et_schema {

bool is_communication(const Instruction& instruction) {
  return instruction.kind == InstructionKind::kCollective ||
         instruction.kind == InstructionKind::kP2p;
}

bool communicates(const Instruction& instruction) {
  return is_communication(instruction) || instruction.kind == InstructionKind::kWait;
}

std::vector<SlotId> slots_of(const Instruction& instruction, std::size_t argument) {
  if (argument >= instruction.args.size()) {
    return {};
  }
  const auto* list = std::get_if<Argument::List>(&instruction.args[argument].value);
  return list == nullptr ? slots_in({instruction.args[argument]}) : slots_in(*list);
}

bool can_be_wait_of(const CommInfo& wait, const CommInfo& call) {
  return wait.seq && wait.seq == call.seq && (!wait.names_group || wait.group == call.group) &&
         (!wait.is_p2p || *wait.is_p2p == is_message(call.kind));
}

bool is_blocking(const CommInfo& comm) {
  return comm.kind == CommKind::kBarrier || !comm.is_async.value_or(true);
}

std::optional<std::uint32_t> wait_behind(const Program& program, std::uint32_t call) {
  const Instruction& started = program.instructions[call];
  if (!is_blocking(*started.comm)) {
    return std::nullopt;
  }
  for (std::uint32_t at = call + 1; at < program.instructions.size(); ++at) {
    const Instruction& next = program.instructions[at];
    if (next.comm && next.thread == started.thread) {
      const bool is_its =
          next.kind == InstructionKind::kWait && can_be_wait_of(*next.comm, *started.comm);
      return is_its ? std::optional(at) : std::nullopt;
    }
  }
  return std::nullopt;
}

void OpenComms::start(std::uint32_t number, const Instruction& instruction) {
  Touched touched = touched_by(program_, instruction);
  open_.push_back({number,
                   &*instruction.comm,
                   {touched.reads.begin(), touched.reads.end()},
                   {touched.writes.begin(), touched.writes.end()}});
}

void OpenComms::start_detached(std::uint32_t number) {
  open_.push_back({number, nullptr, {}, {}});
}

template <typename Matches>
std::vector<std::uint32_t> OpenComms::take_if(Matches matches) {
  std::vector<std::uint32_t> taken;
  std::erase_if(open_, [&](const Open& open) {
    if (!matches(open)) {
      return false;
    }
    taken.push_back(open.number);
    return true;
  });
  return taken;
}

std::vector<std::uint32_t> OpenComms::take_touched(const Touched& touched) {
  if (open_.empty()) {
    return {};
  }
  return take_if([&](const Open& open) {
    if (touched.is_view && open.comm != nullptr && !open.comm->why.empty()) {
      return false;
    }
    const auto is_output = [&](StorageId storage) { return open.outputs.contains(storage); };
    const auto is_input = [&](StorageId storage) { return open.inputs.contains(storage); };
    return std::ranges::any_of(touched.reads, is_output) ||
           std::ranges::any_of(touched.writes, is_output) ||
           std::ranges::any_of(touched.writes, is_input);
  });
}

std::vector<std::uint32_t> OpenComms::take_waited(const Instruction& wait) {
  const CommInfo& asked = *wait.comm;
  const auto fits = [&](const Open& open) {
    return open.comm != nullptr && can_be_wait_of(asked, *open.comm);
  };
  if (asked.seq && asked.names_group) {
    return take_if(fits);
  }
  Touched named;
  for_each_slot(wait.args,
                [&](SlotId slot) { named.writes.push_back(program_.slots[slot].storage); });
  if (!named.writes.empty()) {
    return take_touched(named);
  }
  const auto first = std::find_if(open_.begin(), open_.end(), fits);
  if (first == open_.end()) {
    return {};
  }
  // Calls issued as a batch share their sequence number; one wait joins them.
  const CommInfo& meant = *first->comm;
  return take_if([&](const Open& open) {
    return fits(open) && open.comm->group == meant.group &&
           is_message(open.comm->kind) == is_message(meant.kind);
  });
}

std::vector<std::uint32_t> OpenComms::take_all() {
  return take_if([](const Open&) { return true; });
}

}  // namespace understudy::et_schema
