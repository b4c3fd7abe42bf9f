#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/pages/document/page.h"
#include "et_schema/formats/bench/bench.h"
#include "generator/composer/mix/compose.h"

namespace understudy::cli {

/// Shows the result of `compose`.
[[nodiscard]] pages::Page composed_page(const et_schema::Bench& bench, const std::string& path,
                                        std::uint64_t bytes, const et_schema::Account& sources);
/// Shows the contents of pieces.
[[nodiscard]] pages::Page pieces_page(const std::vector<composer::PieceEnds>& pieces);

}  // namespace understudy::cli
