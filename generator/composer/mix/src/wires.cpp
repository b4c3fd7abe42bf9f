#include "wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "et_schema/model/memory_plan.h"

namespace understudy::composer {
namespace {

using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::StorageId;

/// Binds each input that is not external in the origin to the last unused output that fits.
void chain(const Program& made, const Occurrence& before, const Program& origin, const Piece& piece,
           std::map<SlotId, SlotId>& wired) {
  std::set<SlotId> taken;
  std::set<StorageId> wired_storages;
  const std::map<StorageId, Span> views = spans_of_views(origin, piece);
  for (const SlotId input : piece.inputs) {
    const Slot& layout = origin.slots[input];
    if (layout.external || !holds_views(layout, views) || wired_storages.contains(layout.storage)) {
      continue;
    }
    const auto output =
        std::find_if(before.outputs.rbegin(), before.outputs.rend(), [&](SlotId candidate) {
          return fits(made.slots[candidate], layout) && !taken.contains(candidate);
        });
    if (output != before.outputs.rend()) {
      wired[input] = *output;
      taken.insert(*output);
      wired_storages.insert(layout.storage);
    }
  }
}

void add_wire(const Made& made, const PlanWire& wire, const Program& origin, const Piece& piece,
              std::map<SlotId, SlotId>& wired) {
  const std::string& file = made.plan.file;
  const auto from = made.last.find(wire.from);
  if (from == made.last.end()) {
    refuse_plan(file, wire.line, "a wire between ranks",
                fmt::format("an occurrence of rank {}", made.rank), wire.from,
                "tensors go from rank to rank by communication alone");
  }
  const std::vector<SlotId>& outputs = made.all[from->second].outputs;
  if (wire.output >= outputs.size() || wire.input >= piece.inputs.size()) {
    refuse_plan(file, wire.line, "a wire's end that the piece does not have",
                fmt::format("outputs below {} of {}, inputs below {} of {}", outputs.size(),
                            wire.from, piece.inputs.size(), wire.to),
                fmt::format("{}.{} to {}.{}", wire.from, wire.output, wire.to, wire.input),
                "compose --list PLAN shows them");
  }
  const SlotId output = outputs[wire.output];
  const SlotId input = piece.inputs[wire.input];
  if (!fits(made.program.slots[output], origin.slots[input])) {
    refuse_plan(file, wire.line, "a wire whose ends do not fit",
                et_schema::layout_text(origin.slots[input]) + " with the same strides",
                et_schema::layout_text(made.program.slots[output]));
  }
  if (!holds_views(origin.slots[input], spans_of_views(origin, piece))) {
    refuse_plan(
        file, wire.line, "a wire to a part of a tensor",
        "views of it that reach no further than " + et_schema::layout_text(origin.slots[input]),
        fmt::format("{}.{} shows a part of the memory that the piece uses", wire.to, wire.input),
        "wire the tensor that it is a view of, or leave the wire out: it is then made "
        "before the step");
  }
  wired[input] = output;
}

}  // namespace

std::map<SlotId, SlotId> wires_of(const Made& made, const PlanItem& item, const Program& origin,
                                  const Piece& piece) {
  std::map<SlotId, SlotId> wired;
  if (item.chained && made.newest) {
    chain(made.program, made.all[*made.newest], origin, piece, wired);
  }
  for (const PlanWire& wire : made.plan.wires) {
    if (wire.to == item.as) {
      add_wire(made, wire, origin, piece, wired);
    }
  }
  return wired;
}

}  // namespace understudy::composer
