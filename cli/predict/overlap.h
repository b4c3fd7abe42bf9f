#pragma once

#include <string_view>

#include "predictor/simulate/simulate.h"

namespace understudy::cli {

/// Parses "compute=1.1,communication=1.3,streams=1.2". Throws Error (usage).
[[nodiscard]] predictor::OverlapFactors parse_overlap(std::string_view text);

}  // namespace understudy::cli
