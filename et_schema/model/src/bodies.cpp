#include "et_schema/model/bodies.h"

#include <algorithm>
#include <set>
#include <string>

#include "et_schema/facts/schema_text.h"
#include "et_schema/model/op_class.h"

namespace understudy::et_schema {
namespace {

/// Returns true if the instruction writes no elements. Views do not, even where their schema says
/// so. Nor does an operator that returned its argument, as aten::to does if the type is right.
bool only_shapes(const Program& program, const Instruction& instruction) {
  if (op_class(instruction.name) == "view" || instruction.name.starts_with("aten::resize_")) {
    return true;
  }
  const bool writes =
      !instruction.schema || program.schemas[*instruction.schema].find('!') != std::string::npos;
  return !writes && !slots_in(instruction.results).empty() &&
         returns_given_memory(program, instruction);
}

/// Returns the arguments that the operator writes by its schema.
std::vector<Argument> written_arguments(const Program& program, const Instruction& instruction) {
  std::vector<Argument> written;
  for (std::size_t i = 0; i < instruction.args.size() && instruction.schema; ++i) {
    if (argument_is_written(program.schemas[*instruction.schema], i)) {
      written.push_back(instruction.args[i]);
    }
  }
  return written;
}

/// The slots that operators write, bodies included. New memory and views of it count as unwritten
/// until an operator writes them.
class Written {
 public:
  explicit Written(const Program& program) : program_(program) {}

  void collect(const std::vector<Instruction>& instructions) {
    for (const Instruction& instruction : instructions) {
      if (allocates_memory(instruction.name)) {
        for_each_slot(instruction.results,
                      [&](SlotId slot) { fresh_.insert(program_.slots[slot].storage); });
        continue;
      }
      if (!shows_fresh_memory(instruction)) {
        for_each_slot(!instruction.results.empty() ? instruction.results
                      : instruction.schema         ? written_arguments(program_, instruction)
                                                   : instruction.args,
                      [&](SlotId slot) { add(slot); });
      }
      collect(instruction.body);
    }
  }
  void add(SlotId slot) {
    slots_.insert(slot);
    fresh_.erase(program_.slots[slot].storage);
  }
  /// Adds a slot that existed before the operator ran.
  void add_given(SlotId slot) { slots_.insert(slot); }
  /// Adds a slot that must still be written.
  void await(SlotId slot) { fresh_.insert(program_.slots[slot].storage); }
  [[nodiscard]] bool has(SlotId slot) const { return slots_.contains(slot); }
  [[nodiscard]] bool is_awaited(SlotId slot) const {
    return fresh_.contains(program_.slots[slot].storage);
  }

 private:
  [[nodiscard]] bool shows_fresh_memory(const Instruction& instruction) const {
    bool is_fresh = false;
    for_each_slot(instruction.args, [&](SlotId slot) { is_fresh |= is_awaited(slot); });
    return is_fresh && only_shapes(program_, instruction);
  }

  const Program& program_;
  std::set<SlotId> slots_;
  std::set<StorageId> fresh_;
};

}  // namespace

bool returns_given_memory(const Program& program, const Instruction& instruction) {
  std::set<StorageId> given;
  for_each_slot(instruction.args, [&](SlotId slot) { given.insert(program.slots[slot].storage); });
  return std::ranges::all_of(slots_in(instruction.results), [&](SlotId slot) {
    return given.contains(program.slots[slot].storage);
  });
}

bool body_makes_results(const Program& program, const Instruction& instruction) {
  if (instruction.body.empty()) {
    return false;
  }
  if (allocates_memory(instruction.name)) {
    return true;
  }
  const bool writes_none = only_shapes(program, instruction);
  Written made(program);
  const std::vector<Argument> written =
      writes_none ? std::vector<Argument>() : written_arguments(program, instruction);
  // An operator without results, or whose results are numbers, works if one below it does.
  bool all = writes_none || !written.empty() || !slots_in(instruction.results).empty() ||
             std::ranges::any_of(instruction.body, [&](const Instruction& inner) {
               return !only_shapes(program, inner) && !allocates_memory(inner.name);
             });
  for_each_slot(written, [&](SlotId slot) { made.await(slot); });
  made.collect(instruction.body);
  for_each_slot(instruction.args, [&](SlotId slot) { made.add_given(slot); });
  for_each_slot(written, [&](SlotId slot) { all = all && !made.is_awaited(slot); });
  for_each_slot(instruction.results, [&](SlotId slot) {
    all = all && (made.has(slot) || program.slots[slot].external);
  });
  return all;
}

}  // namespace understudy::et_schema
