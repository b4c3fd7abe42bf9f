#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/program.h"
#include "replayer/bound.h"

namespace understudy::replayer {

/// What a step does to slots, in the order of BoundProgram::steps.
struct SlotUse {
  std::vector<et_schema::SlotId> reads;   ///< in-place results among them
  std::vector<et_schema::SlotId> makes;   ///< slots that a new tensor is put into
  std::vector<et_schema::SlotId> unkept;  ///< results that are not stored (pinned)
};

/// Fills in what depends on lifetimes: stack entries that give their slot away, slots that each
/// step drops, results that nobody reads and that are therefore not stored, and live_peak_bytes.
/// `needed`: by slot, read after the last step; may be empty.
void apply_liveness(const et_schema::Program& program, const std::vector<SlotUse>& uses,
                    const std::vector<bool>& needed, BoundProgram& bound);

}  // namespace understudy::replayer
