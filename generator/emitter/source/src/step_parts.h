#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "argument_text.h"
#include "data_flow.h"
#include "statement_text.h"

namespace understudy::emitter {

/// The text of the tensors that a step's class holds.
struct TensorsText {
  std::map<et_schema::SlotId, std::string> members;  ///< by slot: its name
  std::vector<std::string> declarations;             ///< with a comment on each tensor's role
  std::vector<std::string> making;                   ///< statements
  Vectors vectors;                                   ///< of these members
  /// Rules too long for the statements, with the name of the function that returns each.
  std::vector<std::pair<std::string, std::string>> long_rules;
};

/// Writes the tensors that are made before the step: externals that it reads, and replacements of
/// results. `kept`: slots that outlive their step.
[[nodiscard]] TensorsText write_tensors(const DataFlow& flow, const std::vector<std::string>& words,
                                        const std::set<et_schema::SlotId>& kept,
                                        const DeviceText& devices);

/// Returns true if a slot can be made before the step.
[[nodiscard]] bool can_be_made(const et_schema::Slot& slot);

/// The text of one rank's step, and the instructions that it cannot express.
struct StepText {
  std::string body;  ///< the file after its imports
  /// By instruction: why it cannot be expressed; empty: it can.
  std::vector<std::string> refused;
};

/// `failing`: as of find_showing().
[[nodiscard]] StepText write_step(const et_schema::Program& program,
                                  std::vector<std::string> failing);

}  // namespace understudy::emitter
