#pragma once

#include <string>
#include <vector>

#include "common/progress.h"
#include "compile/profiles.h"
#include "et_schema/bench/bench.h"
#include "generator/job/generate.h"

namespace understudy::cli {

struct Compiled {
  et_schema::Bench bench;
  /// Profiles that lay beside the traces and were not linked.
  std::vector<std::string> unlinked_profiles;
};

/// Reads the traces of all ranks, links them with their profiles and compiles them: what `generate`
/// does before it writes, and every program that takes traces in place of a benchmark.
[[nodiscard]] Compiled compile_traces(const std::vector<std::string>& paths,
                                      const generator::GenerateOptions& options,
                                      const ProfileChoice& profiles, Progress& progress);

/// The same, or a benchmark as it was written where the one path is a bench.et.
[[nodiscard]] Compiled load_benchmark(const std::vector<std::string>& paths,
                                      const generator::GenerateOptions& options,
                                      const ProfileChoice& profiles, Progress& progress);

}  // namespace understudy::cli
