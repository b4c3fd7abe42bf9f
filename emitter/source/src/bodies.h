#pragma once

#include <string_view>

#include "argument_text.h"
#include "et_schema/model/program.h"

namespace understudy::emitter {

/// Whether a project finds an operator in LibTorch, or brings a stand-in for it.
[[nodiscard]] bool is_found(std::string_view name, Dialect dialect);

/// The program with the recorded bodies in place of operators that are not found, where the body
/// makes all that they make.
[[nodiscard]] et_schema::Program with_bodies(const et_schema::Program& program, Dialect dialect);

}  // namespace understudy::emitter
