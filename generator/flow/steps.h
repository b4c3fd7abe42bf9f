#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "et_schema/model/trace.h"
#include "generator/flow/flow.h"

namespace understudy::generator {

/// The mark that torch.profiler puts around a step: "ProfilerStep#4".
inline constexpr std::string_view kStepMark = "ProfilerStep#";
[[nodiscard]] inline bool is_step_mark(std::string_view name) {
  return name.starts_with(kStepMark);
}

/// The part of a trace that a benchmark is made of.
struct Step {
  IdRange ids;
  std::string name;  ///< "ProfilerStep#4", "all", or empty where the trace marks no steps
};

/// Step K has every node, on every thread, with an id in [id of its ProfilerStep, id of the next).
/// A step whose end is not in the file is not complete. The only step of a trace is the whole
/// trace. If `asked` is empty, the first complete step is chosen; a trace with fewer than two step
/// marks is taken whole. Throws Error (usage) if the trace has no such step: the message lists the
/// steps it has.
[[nodiscard]] Step choose_step(const et_schema::Trace& trace,
                               const std::optional<std::string>& asked);

}  // namespace understudy::generator
