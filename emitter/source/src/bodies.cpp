#include "bodies.h"

#include <algorithm>
#include <string>
#include <vector>

#include "embedded_files.h"
#include "et_schema/model/bodies.h"
#include "et_schema/model/public_operators.h"
#include "et_schema/model/schema_text.h"

namespace understudy::emitter {
namespace {

using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;

void append(const Program& program, const Instruction& instruction, Dialect dialect,
            std::vector<Instruction>& to) {
  if (instruction.kind != InstructionKind::kOp || is_found(instruction.name, dialect) ||
      !et_schema::body_makes_results(program, instruction)) {
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
  const std::string_view base = et_schema::without_overload(name);
  const std::string_view stand_ins =
      dialect == Dialect::kPython ? "" : runtime_files().at("bench/fbgemm.h");
  constexpr std::string_view kLookup =
      "fbgemm::split_embedding_codegen_lookup_";  // of any optimizer
  const std::string_view sought = base.starts_with(kLookup) ? kLookup : base;
  return et_schema::is_in_libtorch(base) ||
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
