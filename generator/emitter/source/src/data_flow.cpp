#include "data_flow.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "et_schema/model/lifetimes.h"

namespace understudy::emitter {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;
using et_schema::StorageId;

DataFlow::DataFlow(const Program& program, std::vector<bool> replaced)
    : program_(program),
      replaced_(std::move(replaced)),
      reads_(program.instructions.size()),
      events_(program.slots.size()),
      given_(program.slots.size()),
      holder_(program.slots.size()),
      deaths_(program.storages.size()),
      late_deaths_(program.storages.size()) {
  read_program();
  find_deaths();
}

void DataFlow::read_program() {
  std::vector<bool> exists(program_.slots.size());
  for (SlotId slot = 0; slot < exists.size(); ++slot) {
    exists[slot] = program_.slots[slot].external;
  }
  for (std::size_t at = 0; at < program_.instructions.size(); ++at) {
    const Instruction& instruction = program_.instructions[at];
    const bool communicates = instruction.comm.has_value();
    et_schema::for_each_slot(instruction.args, [&](SlotId slot) {
      reads_[at].push_back(slot);
      if (!exists[slot] && communicates) {
        events_[slot].push_back({at, true});  // an output that the communication makes
      } else if (!exists[slot]) {
        given_[slot] = true;
      }
      exists[slot] = true;
      events_[slot].push_back({at, false});
    });
    for (const Argument& result : instruction.results) {
      et_schema::for_each_slot({result}, [&](SlotId slot) {
        exists[slot] = true;
        const ResultKind kind = kind_of(at, {Argument::SlotRef{slot}});
        given_[slot] = given_[slot] || kind == ResultKind::kGiven;
        if (kind == ResultKind::kNew) {
          events_[slot].push_back({at, true});
        }
      });
    }
  }
}

ResultKind DataFlow::kind_of(std::size_t at, const Argument& result) const {
  const auto* slot = std::get_if<Argument::SlotRef>(&result.value);
  if (slot == nullptr) {
    return ResultKind::kNone;
  }
  const std::vector<SlotId>& reads = reads_[at];
  if (program_.slots[slot->id].external ||
      std::find(reads.begin(), reads.end(), slot->id) != reads.end()) {
    return ResultKind::kInPlace;
  }
  return is_replaced(at) ? ResultKind::kGiven : ResultKind::kNew;
}

bool DataFlow::is_replaced(std::size_t at) const {
  return program_.instructions[at].pinned || (at < replaced_.size() && replaced_[at]);
}

bool DataFlow::is_read_after(SlotId slot, std::size_t end) const {
  const auto next = std::find_if(events_[slot].begin(), events_[slot].end(),
                                 [end](const Event& event) { return event.at >= end; });
  return next != events_[slot].end() && !next->makes;
}

bool DataFlow::is_unread_view(std::size_t at) const {
  const Instruction& instruction = program_.instructions[at];
  if (instruction.kind != InstructionKind::kOp || !instruction.schema ||
      instruction.results.size() != 1 || is_replaced(at) ||
      program_.schemas[*instruction.schema].find('!') != std::string::npos) {
    return false;
  }
  const auto* made = std::get_if<Argument::SlotRef>(&instruction.results.front().value);
  if (made == nullptr) {
    return false;
  }
  const StorageId storage = program_.slots[made->id].storage;
  const bool is_view = std::any_of(reads_[at].begin(), reads_[at].end(), [&](SlotId slot) {
    return program_.slots[slot].storage == storage;
  });
  const bool is_new = kind_of(at, instruction.results.front()) == ResultKind::kNew;
  return is_view && (!is_new || (!holder_[made->id] && !is_read_after(made->id, at + 1)));
}

void DataFlow::find_deaths() {
  const et_schema::Lifetimes lifetimes =
      et_schema::lifetimes_of(program_, et_schema::uses_of(program_));
  for (std::size_t at = 0; at < lifetimes.deaths.size(); ++at) {
    const et_schema::StepDeaths& deaths = lifetimes.deaths[at];
    for (const auto* dying : {&deaths.unread, &deaths.last_reads, &deaths.let_go}) {
      for (const SlotId slot : *dying) {
        const StorageId storage = program_.slots[slot].storage;
        if (!program_.storages[storage].external) {
          deaths_[storage] = at;
        }
        holder_[slot] = holder_[slot] || dying == &deaths.let_go;
      }
    }
  }
  for (const SlotId slot : lifetimes.outlive) {
    const StorageId storage = program_.slots[slot].storage;
    const auto until =
        std::find_if(lifetimes.deaths.begin(), lifetimes.deaths.end(), [slot](const auto& deaths) {
          return std::find(deaths.let_go.begin(), deaths.let_go.end(), slot) != deaths.let_go.end();
        });
    late_deaths_[storage] = static_cast<std::size_t>(until - lifetimes.deaths.begin());
    deaths_[storage].reset();
  }
}

std::vector<SlotId> long_list(const et_schema::Argument& argument) {
  std::vector<SlotId> slots;
  const auto* list = std::get_if<et_schema::Argument::List>(&argument.value);
  if (list != nullptr && list->size() >= kShortestVector) {
    slots = et_schema::slots_in(*list);
    const std::set<SlotId> distinct(slots.begin(), slots.end());
    if (slots.size() != list->size() || distinct.size() != slots.size()) {
      slots.clear();
    }
  }
  return slots;
}

std::map<std::vector<SlotId>, int> count_lists(const Program& program) {
  std::map<std::vector<SlotId>, int> counts;
  for (const Instruction& instruction : program.instructions) {
    for (const et_schema::Argument& argument : instruction.args) {
      ++counts[long_list(argument)];
    }
  }
  return counts;
}

}  // namespace understudy::emitter
