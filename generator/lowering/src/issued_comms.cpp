#include "issued_comms.h"

#include <algorithm>

#include "et_schema/model/open_comms.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {

using et_schema::CommInfo;

void IssuedComms::add(const Instruction& instruction, Program& program) {
  const CommInfo& call = *instruction.comm;
  if (call.kind == CommKind::kWait) {
    program.losses.add(Loss::kUnmatchedWaits, is_issued(instruction, program) ? 0 : 1);
    return;
  }
  if (call.seq) {
    by_seq_.emplace(*call.seq, call);
  }
  et_schema::for_each_slot(instruction.args,
                           [&](SlotId slot) { touched_.insert(program.slots[slot].storage); });
}

/// Whether the communication that a wait joins was issued in this program.
bool IssuedComms::is_issued(const Instruction& wait, const Program& program) const {
  bool issued = false;
  et_schema::for_each_slot(wait.args, [&](SlotId slot) {
    issued = issued || touched_.contains(program.slots[slot].storage);
  });
  if (wait.comm->seq) {
    const auto [begin, end] = by_seq_.equal_range(*wait.comm->seq);
    issued = issued || std::any_of(begin, end, [&](const auto& entry) {
               return et_schema::can_be_wait_of(*wait.comm, entry.second);
             });
  }
  return issued;
}

}  // namespace understudy::generator
