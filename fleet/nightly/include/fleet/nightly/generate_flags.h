#pragma once

#include <string>
#include <vector>

namespace understudy::fleet {

/// What a job's flags for `generate` may be: those that decide what the benchmark is. Others would
/// write elsewhere than into the store, or no benchmark. Returns the first word that is none of
/// them nor the value of one; empty where all are right.
[[nodiscard]] std::string refused_generate_flag(const std::vector<std::string>& words);

/// "--allow-partial, --batch, …": those that may be.
[[nodiscard]] std::string allowed_generate_flags();

}  // namespace understudy::fleet
