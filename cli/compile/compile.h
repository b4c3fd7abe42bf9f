#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/progress.h"
#include "compile/profiles.h"
#include "et_schema/bench/bench.h"
#include "et_schema/model/operator_trust.h"
#include "generator/job/generate.h"

namespace understudy::cli {

struct Compiled {
  et_schema::Bench bench;
  /// Profiles that lay beside the traces and were not linked.
  std::vector<std::string> unlinked_profiles;
};

/// Throws Error (bad input) if a program would call what does more than compute: see
/// et_schema/model/operator_trust.h. Part of the functions below.
void refuse_operators(const et_schema::Bench& bench, const std::string& path,
                      const et_schema::AllowedOperators& allowed);

/// Adds --allow-operator NAME.
void add_allow_option(CLI::App& app, et_schema::AllowedOperators& allowed);

/// Adds --op-map FILE. What it names is to be given to use_operator_maps() before the map is asked.
void add_map_option(CLI::App& app, std::vector<std::string>& files);
void use_operator_maps(const std::vector<std::string>& files);

/// For programs that only look at operators, or leave it to others to call them.
[[nodiscard]] inline et_schema::AllowedOperators all_operators() {
  return {"*"};
}

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
