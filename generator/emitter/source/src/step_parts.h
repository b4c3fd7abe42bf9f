#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "argument_text.h"
#include "call_text.h"
#include "generator/emitter/outline/outline.h"
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
[[nodiscard]] TensorsText write_tensors(const DataFlow& flow, const Outline& outline,
                                        const std::vector<std::string>& words,
                                        const std::set<et_schema::SlotId>& kept,
                                        const DeviceText& devices, Language language);

/// Returns true if a slot can be made before the step.
[[nodiscard]] bool can_be_made(const et_schema::Slot& slot);

/// The text of an outlined function, and what its callers need.
struct FunctionText {
  std::string name;
  std::string declaration;  ///< the type of its results, if there are several
  std::string definition;
  std::vector<bool> by_value;             ///< by parameter: its memory is freed inside
  std::vector<std::string> result_names;  ///< members of its result; empty if it returns one tensor
};

/// Throws CannotShow.
[[nodiscard]] FunctionText write_function(const DataFlow& flow, const Outline& outline,
                                          std::size_t function, const std::string& name,
                                          const std::vector<std::string>& words, CallWriter& calls,
                                          Language language);

/// The parts of a step's text.
struct StepParts {
  const std::map<std::string, Named>& named;  ///< see Calls
  const TensorsText& tensors;
  const std::vector<FunctionText>& functions;
  const std::vector<std::string>& lines;  ///< of the step itself
};

/// Joins the parts: the file after its includes, up to make_NAME().
[[nodiscard]] std::string step_source(const StepParts& step, Language language);

/// The text of one rank's step, and the instructions that it cannot express.
struct StepText {
  std::string body;  ///< the file after its includes, up to make_NAME()
  bool communicates = false;
  Calls used;
  std::uint64_t functions = 0;
  std::uint64_t calls = 0;
  /// By instruction: why it cannot be expressed; empty: it can.
  std::vector<std::string> refused;
};

[[nodiscard]] StepText write_step(const et_schema::Program& program, Language language);

}  // namespace understudy::emitter
