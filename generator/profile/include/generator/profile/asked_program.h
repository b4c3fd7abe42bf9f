#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/profile/trace_of_profile.h"

namespace understudy::generator {

/// Calls as a program that has each different one once: an instruction each, in order of their
/// first occurrence. Slots are layouts: arguments of one layout have one slot, whatever tensor they
/// are.
struct AskedProgram {
  et_schema::Program program;
  std::vector<std::size_t> instruction_of;  ///< by call
};

[[nodiscard]] AskedProgram program_of_calls(std::span<const AskedCall> calls);

}  // namespace understudy::generator
