#include "bodies.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "embedded_files.h"
#include "et_schema/model/schema_text.h"
#include "public_schemas.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;

void collect(const std::vector<Argument>& arguments, std::set<SlotId>& slots) {
  et_schema::for_each_slot(arguments, [&](SlotId slot) { slots.insert(slot); });
}

void collect_written(const Program& program, const Instruction& instruction,
                     std::set<SlotId>& slots) {
  for (std::size_t i = 0; instruction.schema && i < instruction.args.size(); ++i) {
    if (et_schema::argument_is_written(program.schemas[*instruction.schema], i)) {
      collect({instruction.args[i]}, slots);
    }
  }
}

/// Whether its body makes its results, but for those that it hands on, and writes what it writes.
bool is_whole(const Program& program, const Instruction& instruction) {
  std::set<SlotId> made;
  for (const Instruction& below : instruction.body) {
    collect(below.results, made);
    collect_written(program, below, made);
  }
  std::set<SlotId> given;
  collect(instruction.args, given);
  std::set<SlotId> needed;
  collect(instruction.results, needed);
  std::erase_if(needed, [&](SlotId slot) { return given.contains(slot); });
  collect_written(program, instruction, needed);
  return !instruction.body.empty() &&
         std::includes(made.begin(), made.end(), needed.begin(), needed.end());
}

void append(const Program& program, const Instruction& instruction, Dialect dialect,
            std::vector<Instruction>& to) {
  if (instruction.kind != InstructionKind::kOp || is_found(instruction.name, dialect) ||
      !is_whole(program, instruction)) {
    to.push_back(instruction);
    return;
  }
  const std::size_t first = to.size();
  for (const Instruction& below : instruction.body) {
    append(program, below, dialect, to);
  }
  to[first].timing = instruction.timing;  // it was recorded as one
}

}  // namespace

bool is_found(std::string_view name, Dialect dialect) {
  const std::string_view base = name.substr(0, name.find('.'));
  const std::string_view stand_ins =
      dialect == Dialect::kPython ? "" : runtime_files().at("bench/fbgemm.h");
  constexpr std::string_view kLookup =
      "fbgemm::split_embedding_codegen_lookup_";  // of any optimizer
  const std::string_view sought = base.starts_with(kLookup) ? kLookup : base;
  return is_in_libtorch(base) ||
         stand_ins.find("\"" + std::string(sought) + "\"") != std::string_view::npos;
}

Program with_bodies(const Program& program, Dialect dialect) {
  Program expanded = program;
  expanded.instructions.clear();
  std::vector<std::uint32_t> places;  // by instruction, and the program's end
  for (const Instruction& instruction : program.instructions) {
    places.push_back(static_cast<std::uint32_t>(expanded.instructions.size()));
    append(program, instruction, dialect, expanded.instructions);
  }
  places.push_back(static_cast<std::uint32_t>(expanded.instructions.size()));
  for (et_schema::Storage& storage : expanded.storages) {
    if (storage.held_until) {
      storage.held_until = places[std::min<std::size_t>(*storage.held_until, places.size() - 1)];
    }
  }
  return expanded;
}

}  // namespace understudy::emitter
