#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/bench/bench.h"

namespace understudy::cli {

/// What generate says about the benchmark it wrote: what was selected, opened and why, where
/// recorded times come from, and what was lost. `unlinked` are profiles of the input that gave no
/// times.
[[nodiscard]] std::string generated_text(const et_schema::Bench& bench, const std::string& path,
                                         std::uint64_t bytes,
                                         const std::vector<std::string>& unlinked);
/// The same for programs, on one line: {"bench":…,"bytes":…,"world_size":…,"ranks":[…]}.
[[nodiscard]] std::string generated_json(const et_schema::Bench& bench, const std::string& path,
                                         std::uint64_t bytes);
/// All figures of the JSON as one long table.
[[nodiscard]] std::string generated_csv(const et_schema::Bench& bench, const std::string& path,
                                        std::uint64_t bytes);

}  // namespace understudy::cli
