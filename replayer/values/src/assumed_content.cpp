#include "replayer/values/assumed_content.h"

#include <c10/core/ScalarType.h>

#include "et_schema/model/unrecorded.h"
#include "replayer/dispatch/layout.h"

namespace understudy::replayer {
namespace {

bool is_quantised(const Slot& slot) {
  return c10::isQIntType(to_scalar_type(slot.dtype));
}

std::string_view assumed_of(const Slot& slot) {
  if (!slot.external) {
    return {};
  }
  if (is_quantised(slot)) {
    return "itself, on a quantised tensor of an assumed scale";
  }
  if (slot.sparse && !slot.content) {
    return "itself, on a sparse tensor without elements";  // benchmarks without content for it
  }
  const bool is_assumed = slot.content && !slot.content->indices.empty() &&
                          slot.content->indices.front().why == et_schema::kAssumedElements;
  return is_assumed ? "itself, on a sparse tensor of an assumed number of elements"
                    : std::string_view();
}

}  // namespace

AssumedContent::AssumedContent(const Program& program)
    : program_(program), by_slot_(program.slots.size()) {
  for (SlotId id = 0; id < program.slots.size(); ++id) {
    by_slot_[id] = assumed_of(program.slots[id]);
  }
  follow(program.instructions);
}

void AssumedContent::follow(const std::vector<Instruction>& instructions) {
  for (const Instruction& instruction : instructions) {
    const std::string_view assumed = of(instruction);
    if (!assumed.empty()) {
      et_schema::for_each_slot(instruction.results, [&](SlotId id) {
        const Slot& slot = program_.slots[id];
        if (slot.sparse || is_quantised(slot)) {
          by_slot_[id] = assumed;
        }
      });
    }
    follow(instruction.body);
  }
}

std::string_view AssumedContent::of(const Instruction& instruction) const {
  std::string_view found;
  et_schema::for_each_slot(instruction.args, [&](SlotId id) {
    if (found.empty()) {
      found = by_slot_[id];
    }
  });
  return found;
}

}  // namespace understudy::replayer
