#include "bodies.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/bodies.h"

namespace understudy::emitter {
namespace {

using et_schema::Instruction;
using et_schema::Program;

void append(const Program& program, const WhyFailing& why_failing, const Instruction& instruction,
            std::vector<Instruction>& to) {
  const bool works =
      is_found(instruction.name) && (!why_failing || why_failing(program, instruction).empty());
  if (instruction.kind != et_schema::InstructionKind::kOp || works ||
      !et_schema::body_makes_results(program, instruction)) {
    to.push_back(instruction);
    return;
  }
  const std::size_t first = to.size();
  for (const Instruction& below : instruction.body) {
    append(program, why_failing, below, to);
  }
  to[first].timing = instruction.timing;  // recorded as one operator
}

}  // namespace

bool is_found(std::string_view name) {
  return et_schema::is_in_libtorch(et_schema::without_overload(name));
}

std::optional<et_schema::MappedCall> row_for(std::string_view schema) {
  if (is_found(et_schema::operator_name(schema))) {
    return {};
  }
  std::optional<et_schema::MappedCall> call = et_schema::operator_map().find(schema).call;
  return call && !call->row->is_of_benchmark ? call : std::nullopt;
}

Program with_bodies(const Program& program, const WhyFailing& why_failing) {
  Program expanded = program;
  expanded.instructions.clear();
  std::vector<std::uint32_t> places;  // by instruction, followed by the program's end
  for (const Instruction& instruction : program.instructions) {
    places.push_back(static_cast<std::uint32_t>(expanded.instructions.size()));
    append(program, why_failing, instruction, expanded.instructions);
  }
  places.push_back(static_cast<std::uint32_t>(expanded.instructions.size()));
  for (et_schema::Storage& storage : expanded.storages) {
    if (storage.held_until) {
      storage.held_until = places[std::min<std::size_t>(*storage.held_until, places.size() - 1)];
    }
  }
  return expanded;
}

bool means_nothing(std::string_view name) {
  return !et_schema::operator_facts(name).not_on_cpu.empty();
}

}  // namespace understudy::emitter
