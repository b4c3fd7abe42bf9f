#pragma once

#include <string>
#include <vector>

#include "statement_text.h"

namespace understudy::emitter {

/// A function of the outline as text, and what a caller has to know of it.
struct FunctionText {
  std::string name;
  std::string declaration;  ///< the type of its results, where they are several
  std::string definition;
  std::vector<bool> by_value;             ///< by parameter: its memory goes inside
  std::vector<std::string> result_names;  ///< members of its result; of one result: empty
};

/// Throws CannotShow.
[[nodiscard]] FunctionText write_function(const DataFlow& flow, const Outline& outline,
                                          std::size_t function, const std::string& name,
                                          const std::vector<std::string>& words, CallWriter& calls,
                                          Dialect dialect);

}  // namespace understudy::emitter
