#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/pages/document/page.h"
#include "et_schema/formats/bench/bench.h"
#include "generator/composer/mix/compose.h"

namespace understudy::cli {

/// What `compose` made.
[[nodiscard]] pages::Page composed_page(const et_schema::Bench& bench, const std::string& path,
                                        std::uint64_t bytes);
/// What pieces hold, for whoever writes wires.
[[nodiscard]] pages::Page pieces_page(const std::vector<composer::PieceEnds>& pieces);

}  // namespace understudy::cli
