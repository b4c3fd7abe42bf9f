#pragma once

#include <string>

#include "common/command_line.h"
#include "et_schema/bench.h"

namespace understudy::cli {

/// What a benchmark holds, in the format asked for: instructions by kind, slots, memory, what the
/// generator opened, losses. Ends in a line feed.
[[nodiscard]] std::string render_bench(const et_schema::Bench& bench, Format format);

}  // namespace understudy::cli
