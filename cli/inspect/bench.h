#pragma once

#include <optional>
#include <string>

#include "common/command_line.h"
#include "et_schema/bench/bench.h"
#include "inspect/op_times.h"

namespace understudy::cli {

/// What a benchmark holds, in the format asked for: instructions by kind, slots, memory, what the
/// generator opened, losses; with `ops` its operators in such groups too. `file` names it. Ends in
/// a line feed. Throws Error (usage) for groups that a benchmark does not tell: modules and phases.
[[nodiscard]] std::string render_bench(const et_schema::Bench& bench, const std::string& file,
                                       Format format, std::optional<GroupBy> ops);

}  // namespace understudy::cli
