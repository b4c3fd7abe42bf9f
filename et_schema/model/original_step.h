#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/programs.h"
#include "et_schema/model/report.h"

namespace understudy::et_schema {

/// Returns the duration of the step of the recorded times.
[[nodiscard]] constexpr std::int64_t recorded_step_ns(const RecordedProfile& profile) {
  return profile.length_ns > 0 ? profile.length_ns : profile.step_ns;
}
/// The same; 0 if no profile is linked.
[[nodiscard]] constexpr std::int64_t recorded_step_ns(const Program& program) {
  return program.profile ? recorded_step_ns(*program.profile) : 0;
}

/// Returns how long the step took under the profiler.
[[nodiscard]] double profiled_step_ms(const RecordedProfile& profile);

/// Returns the part of a sentence that says that the profiler disturbed the step. Empty if that
/// changed its time by less than a quarter, or if a time is unknown.
[[nodiscard]] std::string disturbance_text(const std::optional<double>& profiled_ms,
                                           const std::optional<double>& unprofiled_ms);

/// The same of the rank whose unprofiled step took longest.
[[nodiscard]] std::string disturbance_text(const Programs& programs);

/// Returns the original step from the linked profile; empty if none is linked. `is_counted` selects
/// the instructions whose host times add up to operators_ms.
[[nodiscard]] OriginalStep original_step(const Program& program,
                                         const std::function<bool(const Instruction&)>& is_counted);

/// Returns sentences on what a rank's profile does not tell of its device (doubt_text()), each with
/// a blank at its end; of several ranks they begin with "Rank K: ". Empty if it tells all.
[[nodiscard]] std::string device_doubts(const Programs& programs, std::size_t rank);

/// Sets the operators' counters in the original from the linked profile.
void add_recorded_counters(const Program& program, std::vector<OperatorTime>& operators);

}  // namespace understudy::et_schema
