#pragma once

#include <optional>
#include <string>

#include "common/command_line.h"
#include "et_schema/bench/bench.h"

namespace understudy::cli {

/// The memory of a benchmark's tensors over the step, by their lifetimes: a curve, its peak, the
/// largest tensors there; of `rank` alone where it is given. As csv the curve alone, one
/// instruction a line. Ends in a line feed. Throws Error (usage): no such rank.
[[nodiscard]] std::string render_memory(const et_schema::Bench& bench, std::optional<int> rank,
                                        Format format);

}  // namespace understudy::cli
