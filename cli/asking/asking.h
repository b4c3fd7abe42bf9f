#pragma once

#include <functional>
#include <string>

#include "et_schema/formats/bench/bench.h"
#include "generator/profile/trace_of_profile.h"
#include "generator/resize/batch.h"

namespace understudy::cli {

// What only a Python with PyTorch can tell: the results of operators' calls.

/// Returns a function that asks operator_results.py, which runs in a Python with PyTorch. It
/// remembers answers, and does not ask for them again. Throws Error (usage) if no Python has
/// PyTorch. The returned function throws Error (failed) if the program ends.
[[nodiscard]] generator::AskResults ask_results();
/// Returns a function that asks operator_results.py for a program with another size. Equal programs
/// are asked once. Throws Error (usage) if no Python has PyTorch.
[[nodiscard]] generator::AskSizes ask_sizes();
/// Tries each different call of LibTorch's operators in a benchmark, and the functions of its
/// operator maps, with operator_results.py. Returns a function that tells why a call fails; empty
/// if it does not, or if no Python has PyTorch. Throws Error (bad input) for a map as a replay
/// would.
[[nodiscard]] std::function<std::string(const et_schema::Program&, const et_schema::Instruction&)>
try_calls(const et_schema::Bench& bench);

}  // namespace understudy::cli
