#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "call_text.h"
#include "emitter/outline/outline.h"

namespace understudy::emitter {

/// One rank's step as text, and what it cannot show.
struct StepText {
  std::string body;  ///< all of the file behind its includes, up to make_NAME()
  bool communicates = false;
  Calls used;
  std::uint64_t boxed = 0;  ///< calls by name
  std::uint64_t functions = 0;
  std::uint64_t calls = 0;
  /// By instruction: why it cannot be shown; empty: it can.
  std::vector<std::string> refused;
};

[[nodiscard]] StepText write_step(const et_schema::Program& program, Dialect dialect);

}  // namespace understudy::emitter
