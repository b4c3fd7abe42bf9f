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
                                        const DeviceText& devices, Language language);

/// Whether a slot can be made before the step.
[[nodiscard]] bool can_be_made(const et_schema::Slot& slot);

/// A function of the outline as text, and what a caller has to know of it.
struct FunctionText {
  std::string name;
  std::string declaration;  ///< the type of its results, where they are several
  std::string definition;
  std::vector<bool> by_value;             ///< by parameter: its memory goes inside
  std::vector<std::string> result_names;  ///< members of its result; of one result: empty
};

/// Throws CannotShow.
[[nodiscard]] FunctionText write_function(const DataFlow& flow, const Outline& outline,
                                          std::size_t function, const std::string& name,
                                          const std::vector<std::string>& words, CallWriter& calls,
                                          Language language);

/// A step's pieces of text.
struct StepParts {
  const std::map<std::string, Named>& named;  ///< see Calls
  const TensorsText& tensors;
  const std::vector<FunctionText>& functions;
  const std::vector<std::string>& lines;  ///< of the step itself
};

/// They put together: a file behind its includes, up to make_NAME().
[[nodiscard]] std::string step_source(const StepParts& step, Language language);

/// One rank's step as text, and what it cannot show.
struct StepText {
  std::string body;  ///< all of the file behind its includes, up to make_NAME()
  bool communicates = false;
  Calls used;
  std::uint64_t functions = 0;
  std::uint64_t calls = 0;
  /// By instruction: why it cannot be shown; empty: it can.
  std::vector<std::string> refused;
};

[[nodiscard]] StepText write_step(const et_schema::Program& program, Language language);

}  // namespace understudy::emitter
