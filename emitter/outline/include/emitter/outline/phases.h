#pragma once

#include <cstddef>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::emitter {

/// The parts of a training step, by the instructions' names and what they write.
struct Phases {
  std::size_t backward = 0;  ///< the first instruction of the backward pass
  std::size_t update = 0;    ///< and of the optimizer's
};

/// The backward pass begins at the first backward operator (or at the seed of its gradient). The
/// update begins at the first instruction after the last backward operator that changes a tensor
/// from before the step. A program without one of them has it at its end.
[[nodiscard]] Phases find_phases(const et_schema::Program& program);

/// "forward", "backward" or "update".
[[nodiscard]] std::string_view phase_name(const Phases& phases, std::size_t instruction);

}  // namespace understudy::emitter
