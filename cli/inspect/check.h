#pragma once

#include <string>
#include <vector>

#include "common/command_line.h"
#include "et_schema/chakra/check.h"

namespace understudy::cli {

/// What a check of Chakra traces found, as text, JSON or CSV.
[[nodiscard]] std::string render_check(const std::vector<et_schema::ChakraFile>& files,
                                       const et_schema::ChakraCheck& check, Format format);

}  // namespace understudy::cli
