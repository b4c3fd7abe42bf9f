#pragma once

#include <CLI/CLI.hpp>

namespace understudy::cli {

/// Adds --max-input SIZE, which every program has. Without it the limit follows from the memory
/// available to this process and to those that a launcher started beside it.
void add_max_input_option(CLI::App& app);

}  // namespace understudy::cli
