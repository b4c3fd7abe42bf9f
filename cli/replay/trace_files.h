#pragma once

#include <string>
#include <vector>

namespace understudy::cli {

/// Where the Kineto profile of one of `ranks` ranks goes: `path` of one alone, "out.3.json" of rank
/// 3 of several.
[[nodiscard]] std::string trace_path(const std::string& path, int rank, int ranks);

/// Writes the ranks' profiles, and where there are several `path` too: all of them in one, each
/// with processes of its own.
void write_traces(const std::string& path, const std::vector<std::string>& profiles);

}  // namespace understudy::cli
