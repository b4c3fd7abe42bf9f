#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// Arguments or results as in a PyTorch trace, as Python literals.
struct ValueTexts {
  std::string values;
  std::string shapes;
  std::string types;
  std::string strides;
  bool has_strides = false;  ///< at least one tensor has strides
  bool are_told = false;     ///< not from the trace: inferred from view operators, or assumed
};

[[nodiscard]] ValueTexts texts_of(const std::vector<et_schema::Argument>& arguments,
                                  const et_schema::Program& program);

/// Returns the known numbers that one-element integer tensors hold before the step, in the form of
/// a trace's ranges: {"1":[256,256]}, by position among an operator's tensors. Empty if there are
/// none.
[[nodiscard]] std::string known_numbers(const et_schema::Instruction& instruction,
                                        const et_schema::Program& program);

/// Returns true if known_numbers() includes the number in a slot.
[[nodiscard]] bool is_known_number(const et_schema::Slot& slot);

/// Returns the bytes of a slot's elements.
[[nodiscard]] std::int64_t bytes_of(const et_schema::Slot& slot);

}  // namespace understudy::generator
