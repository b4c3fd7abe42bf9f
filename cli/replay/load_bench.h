#pragma once

#include "common/progress.h"
#include "et_schema/bench/bench.h"
#include "replay/arguments.h"

namespace understudy::cli {

/// What a replay is given: a benchmark, its signature checked where one is required, or traces,
/// which are compiled. Throws Error (bad input).
[[nodiscard]] et_schema::Bench load_bench(const ReplayArguments& arguments, Progress& progress);

}  // namespace understudy::cli
