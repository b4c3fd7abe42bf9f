#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "argument_text.h"
#include "et_schema/model/program.h"

namespace understudy::emitter {

/// Operators that mean nothing in an emitted step: they hand their tensor on.
[[nodiscard]] bool means_nothing(std::string_view name);

/// What source makes of a program's instructions.
struct Showing {
  std::vector<std::string> refused;  ///< by instruction: why it cannot be shown; empty: it can
  std::uint64_t boxed = 0;           ///< calls by name
};
[[nodiscard]] Showing find_showing(const et_schema::Program& program, Dialect dialect);

}  // namespace understudy::emitter
