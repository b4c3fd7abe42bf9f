#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "argument_text.h"
#include "emitter/outline/outline.h"

namespace understudy::emitter {

/// The tensors of a step that stand outside of it, as text.
struct TensorsText {
  std::map<et_schema::SlotId, std::string> members;  ///< by slot: its name
  std::vector<std::string> declarations;             ///< with what each is
  std::vector<std::string> making;                   ///< statements
  Vectors vectors;                                   ///< of these members
  /// Rules too long to stand among the statements, by the name of the function that gives them.
  std::vector<std::pair<std::string, std::string>> long_rules;
};

/// What is made before the step: externals that it reads, and what stands in for results. `kept`:
/// slots that outlive their step.
[[nodiscard]] TensorsText write_tensors(const DataFlow& flow, const Outline& outline,
                                        const std::vector<std::string>& words,
                                        const std::set<et_schema::SlotId>& kept,
                                        const DeviceText& devices, Dialect dialect);

/// Whether a slot can be made before the step.
[[nodiscard]] bool can_be_made(const et_schema::Slot& slot);

}  // namespace understudy::emitter
