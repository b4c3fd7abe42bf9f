#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// Arguments or results as a PyTorch trace has them, in the form of Python's texts.
struct ValueTexts {
  std::string values;
  std::string shapes;
  std::string types;
  std::string strides;
  bool has_strides = false;  ///< of any tensor
  bool are_told = false;     ///< they were not recorded: view operators told them, or nothing did
};

[[nodiscard]] ValueTexts texts_of(const std::vector<et_schema::Argument>& arguments,
                                  const et_schema::Program& program);

/// Bytes of a slot's elements.
[[nodiscard]] std::int64_t bytes_of(const et_schema::Slot& slot);

}  // namespace understudy::generator
