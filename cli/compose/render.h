#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/command_line.h"
#include "composer/mix/compose.h"
#include "composer/mix/fit.h"
#include "et_schema/bench/bench.h"

namespace understudy::cli {

/// What `compose` made.
[[nodiscard]] std::string composed(const et_schema::Bench& bench, const std::string& path,
                                   std::uint64_t bytes, const std::optional<composer::Fit>& fit,
                                   Format format);
/// What pieces hold, for whoever writes wires.
[[nodiscard]] std::string listed(const std::vector<composer::PieceEnds>& pieces, Format format);

}  // namespace understudy::cli
