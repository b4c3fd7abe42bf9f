#pragma once

#include <vector>

#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

/// From the span that ended last, by `end_ns`, over what each began behind, back to `begin_ns`.
[[nodiscard]] std::vector<PathPiece> critical_path(const std::vector<RankClass>& classes,
                                                   std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace understudy::predictor
