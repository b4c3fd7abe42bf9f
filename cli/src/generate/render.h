#pragma once

#include <cstdint>
#include <string>

#include "et_schema/bench.h"

namespace understudy::cli {

/// What generate says about the benchmark it wrote: what was selected, opened and why, and what was
/// lost.
[[nodiscard]] std::string generated_text(const et_schema::Bench& bench, const std::string& path,
                                         std::uint64_t bytes);
/// The same for programs, on one line: {"bench":…,"bytes":…,"world_size":…,"ranks":[…]}.
[[nodiscard]] std::string generated_json(const et_schema::Bench& bench, const std::string& path,
                                         std::uint64_t bytes);
/// One row a rank.
[[nodiscard]] std::string generated_csv(const et_schema::Bench& bench);

}  // namespace understudy::cli
