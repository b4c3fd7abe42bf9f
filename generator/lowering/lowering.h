#pragma once

#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"
#include "generator/link/link.h"
#include "generator/lowering/groups.h"
#include "generator/selection/selection.h"

namespace understudy::generator {

/// Converts the selected operators of one rank to instructions over numbered slots (docs/design.md,
/// "Identity"). Value rules are added later: see value_rules.h. Adds the losses of lowering to
/// Program::losses.
[[nodiscard]] et_schema::Program lower(const et_schema::Trace& trace, const CommCalls& calls,
                                       const Flow& flow, const Selected& selected,
                                       const std::vector<WorkingLabel>& labels, Groups& groups);

/// Makes communications asynchronous that their trace records as synchronous although only their
/// own stream waited for them. These are device communications whose kernel ran on another stream
/// than the operators' kernels, or, if no profile shows the stream, those below a label of sharded
/// data parallel. A communication directly followed by its own wait stays synchronous, since
/// PyTorch before 2.8 used a stream for every call.
///
/// Adds a wait (Instruction::kWait) where the profile shows that the operators' stream, or the
/// host, waited for the communication's event. `link` may be null. Must be called before anything
/// that counts instructions.
void set_asynchrony(const et_schema::Trace& trace, const Link* link, et_schema::Program& program);

/// Sets the times of each instruction from its node, and the program's facts about the profile. An
/// opened operator that also runs itself, after its parts, gets the time after the end of its last
/// part; so does a label that did work. Other opened operators keep the sum of the times outside of
/// their parts. Time of the step that lies in no instruction is recorded under its reason
/// (RecordedProfile::outside), so that all times add up to the step. This includes the time of
/// unknown communication calls (`unknown`).
void set_timings(const et_schema::Trace& trace, const Link& link, const Flow& flow,
                 const Selected& selected, const std::vector<et_schema::NodeIndex>& unknown,
                 et_schema::Program& program);

/// Converts a recorded value that holds no tensor and is no list to an argument.
[[nodiscard]] et_schema::Argument plain_argument(const et_schema::Value& value);

/// Returns the value rule of a Python number, whose value the trace does not hold. If the operator
/// above has the same name, it received and recorded the number as a scalar. Otherwise the rule
/// keeps magnitudes unchanged.
[[nodiscard]] et_schema::ValueRule python_number_rule(const et_schema::Trace& trace,
                                                      const et_schema::Node& reader);

}  // namespace understudy::generator
