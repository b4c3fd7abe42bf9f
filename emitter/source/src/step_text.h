#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argument_text.h"
#include "emitter/outline/outline.h"

namespace understudy::emitter {

/// One rank's step as text, and what it cannot show.
struct StepText {
  std::string body;  ///< all of the file behind its includes but for the class's name: "@NAME@"
  bool communicates = false;
  bool has_boxed = false;
  std::uint64_t boxed = 0;
  std::uint64_t functions = 0;
  std::uint64_t calls = 0;
  /// By instruction: why it cannot be shown; empty: it can.
  std::vector<std::string> refused;
};

/// `typed`: see CallWriter.
[[nodiscard]] StepText write_step(const et_schema::Program& program, Dialect dialect, bool typed);

}  // namespace understudy::emitter
