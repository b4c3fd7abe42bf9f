#pragma once

#include <map>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"
#include "generator/link/link.h"
#include "generator/lowering/groups.h"
#include "generator/selection/selection.h"

namespace understudy::generator {

/// Writes the selected operators of one rank as instructions over numbered slots (docs/design.md,
/// "Identity"). Value rules are added later: see value_rules.h. Losses of lowering are added to
/// Program::losses. `reduce_ops`: GenerateOptions::reduce_ops.
[[nodiscard]] et_schema::Program lower(
    const et_schema::Trace& trace, const CommCalls& calls, const Flow& flow,
    const Selected& selected, const std::vector<WorkingLabel>& labels, Groups& groups,
    const std::map<et_schema::CommKind, std::string>& reduce_ops);

/// Makes communications asynchronous that their trace calls synchronous, though only a stream of
/// their own waited for them: those of a device whose kernel ran on another stream than operators'
/// and, where no profile tells the stream, those below a label of sharded data parallel. One with a
/// wait of its own right behind stays as it is, since PyTorch before 2.8 had a stream for every
/// call. Adds a wait (Instruction::kWait) where the profile shows that the operators' stream, or
/// the host, waited for the communication's event. `link` may be null. Comes before anything that
/// counts instructions.
void set_asynchrony(const et_schema::Trace& trace, const Link* link, et_schema::Program& program);

/// Gives each instruction the times of its node, and the program what is known of the profile. An
/// opened operator that runs too, after its parts, gets the time that is left after the last part
/// ended; so does a label that did work. Other opened operators keep the sum of the times outside
/// of their parts. The step's time that lies in no instruction is recorded under its reason
/// (RecordedProfile::outside), so that everything adds up; that of calls of communication that are
/// not known (`unknown`) is among it.
void set_timings(const et_schema::Trace& trace, const Link& link, const Flow& flow,
                 const Selected& selected, const std::vector<et_schema::NodeIndex>& unknown,
                 et_schema::Program& program);

/// A recorded value that holds no tensor and is no list, as an instruction's argument.
[[nodiscard]] et_schema::Argument plain_argument(const et_schema::Value& value);

/// The value of a Python number, which the trace does not hold. If the operator above has the same
/// name, it took the number as a scalar and recorded it; else the rule is one that leaves
/// magnitudes as they are.
[[nodiscard]] et_schema::ValueRule python_number_rule(const et_schema::Trace& trace,
                                                      const et_schema::Node& reader);

}  // namespace understudy::generator
