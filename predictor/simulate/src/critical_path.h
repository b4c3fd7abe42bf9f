#pragma once

#include <vector>

#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// Follows the spans back to `begin_ns`: from the one that ended last, by `end_ns`, each time to
/// the span that it waited for.
[[nodiscard]] std::vector<PathPiece> critical_path(const std::vector<RankClass>& classes,
                                                   std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace understudy::predictor
