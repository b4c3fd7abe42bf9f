#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"

namespace understudy::generator {

/// Prefix of torch.profiler's mark around a step: "ProfilerStep#4".
inline constexpr std::string_view kStepMark = "ProfilerStep#";
[[nodiscard]] inline bool is_step_mark(std::string_view name) {
  return name.starts_with(kStepMark);
}

/// The part of a trace from which a benchmark is made.
struct Step {
  IdRange ids;
  std::string name;  ///< "ProfilerStep#4", "all", or empty if the trace marks no steps
};

/// Chooses a step. Step K consists of all nodes, on all threads, with an id in [id of its
/// ProfilerStep, id of the next). A step without an end in the file is incomplete, except that the
/// only step of a trace is the whole trace. If `asked` is empty, returns the first complete step,
/// or the whole trace if it has fewer than two step marks. Throws Error (usage), listing the
/// trace's steps, if it has no such step.
[[nodiscard]] Step choose_step(const et_schema::Trace& trace,
                               const std::optional<std::string>& asked);

}  // namespace understudy::generator
