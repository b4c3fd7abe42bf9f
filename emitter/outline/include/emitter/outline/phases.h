#pragma once

#include <cstddef>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::emitter {

/// The parts of a training step, as the instructions' names and what they write tell them.
struct Phases {
  std::size_t backward = 0;  ///< the first instruction of the backward pass
  std::size_t update = 0;    ///< and of the optimizer's
};

/// The backward pass begins at the first operator that is one (or at the seed of its gradient), the
/// update behind the last such at the first instruction that changes what was there before the
/// step. A program without either has them at its end.
[[nodiscard]] Phases find_phases(const et_schema::Program& program);

/// "forward", "backward" or "update".
[[nodiscard]] std::string_view phase_name(const Phases& phases, std::size_t instruction);

}  // namespace understudy::emitter
