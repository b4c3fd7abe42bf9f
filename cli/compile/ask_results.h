#pragma once

#include "generator/profile/results.h"

namespace understudy::cli {

/// Asks the program `operator_results`, which has LibTorch, once for each different call. Throws
/// Error (usage) where this build has no such program; the function that it returns throws Error
/// (failed) where the program does not run.
[[nodiscard]] generator::AskResults ask_results();

}  // namespace understudy::cli
