#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "argument_text.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/model/program.h"

namespace understudy::emitter {

/// Whether a project finds an operator in LibTorch.
[[nodiscard]] bool is_found(std::string_view name);

/// The row of the operator map that does what an operator does that is not found; none of those
/// that a benchmark brought, which nobody has checked.
[[nodiscard]] std::optional<et_schema::MappedCall> row_for(std::string_view schema);

/// The program with the recorded bodies in place of operators that are not found, where the body
/// makes all that they make.
[[nodiscard]] et_schema::Program with_bodies(const et_schema::Program& program);

/// Operators that mean nothing in an emitted step: they hand their tensor on.
[[nodiscard]] bool means_nothing(std::string_view name);

/// What source makes of a program's instructions.
struct Showing {
  std::vector<std::string> refused;  ///< by instruction: why it cannot be shown; empty: it can
};
[[nodiscard]] Showing find_showing(const et_schema::Program& program, Language language);

}  // namespace understudy::emitter
