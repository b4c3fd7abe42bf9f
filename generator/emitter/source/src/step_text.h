#pragma once

#include <set>
#include <string>
#include <vector>

#include "argument_text.h"
#include "et_schema/model/program.h"

namespace understudy::emitter {

/// The text of one rank's step, and the instructions that it cannot express.
struct StepText {
  std::string body;  ///< the file after its imports
  /// By instruction: why it cannot be expressed; empty: it can.
  std::vector<std::string> refused;
};

/// `failing`: by instruction, why its call fails; empty if it does not.
[[nodiscard]] StepText write_step(const et_schema::Program& program,
                                  std::vector<std::string> failing);

/// Returns the variable of a tensor that is made before the step: "t5" for an external, "given5" in
/// place of a result.
[[nodiscard]] std::string variable_before(const et_schema::Program& program,
                                          et_schema::SlotId slot);

/// Returns true if a slot can be made before the step.
[[nodiscard]] bool can_be_made(const et_schema::Slot& slot);

/// Returns the statements that make tensors before the step: `read`, and parts of them with a
/// content of their own.
[[nodiscard]] std::vector<std::string> tensors_text(const et_schema::Program& program,
                                                    const std::set<et_schema::SlotId>& read,
                                                    const DeviceText& devices);

}  // namespace understudy::emitter
