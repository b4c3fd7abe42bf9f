#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/pages/document/page.h"
#include "et_schema/formats/bench/bench.h"
#include "generator/resize/batch.h"
#include "generator/seal/obfuscate.h"

namespace understudy::cli {

// Changes to a benchmark: its batch size, its names, its kernels.

/// Result of --obfuscate.
struct Hidden {
  std::string names_path;      ///< file of the original names
  generator::Obfuscated what;  ///< without its benchmark, which was moved out
};
/// Removes the original's names from the benchmark, and writes the list of replacements for the
/// owner.
[[nodiscard]] Hidden hide(et_schema::Bench& bench, const std::string& names_path);

/// All changes to a benchmark.
struct Changes {
  /// Result of --batch or --size.
  struct Batched {
    generator::BatchSize size;
    generator::BatchedBench bench;  ///< without its benchmark, which was moved out
  };
  std::optional<Batched> batched = {};
  /// Operators whose recorded bodies the number of ranks dropped; unset if that did not change.
  std::optional<std::uint64_t> scaled_dropped_bodies = {};
  std::size_t removed_kernels = 0;  ///< removed: their machine code does not fit the changed sizes
  std::optional<Hidden> hidden = {};
};
/// Adds a key for each change: docs/formats.md, "generate --format json".
void add_changes(nlohmann::ordered_json& document, const Changes& changes);
/// Adds a section for each of these keys.
void add_change_sections(pages::Page& page, const nlohmann::ordered_json& document,
                         const Changes& changes);

/// Result of compiling a benchmark's kernels.
struct KernelsMade {
  struct Failure {
    std::string name;
    int architecture = 0;  ///< 90 of sm_90
    std::string why;
  };
  std::string compiler;     ///< "Triton 3.6.0"
  std::size_t kernels = 0;  ///< kernels with machine code for at least one GPU
  std::size_t cubins = 0;
  std::uint64_t bytes = 0;     ///< total size of the cubins
  std::uint64_t launches = 0;  ///< kernel instructions of all ranks that have machine code
  std::uint64_t stubs = 0;     ///< kernel instructions without machine code
  std::vector<Failure> failures;
};

/// Adds --kernels.
void add_kernels_option(CommandLine& line, std::vector<int>& architectures);

/// Compiles the Triton kernels of the programs for these architectures, from the
/// rank-R.compiled.json beside the traces, and adds the machine code to the programs. Needs a
/// Python with Triton but no GPU. Throws Error (bad input) if there is no such kernel or file,
/// Error (failed) if there is no compiler.
[[nodiscard]] KernelsMade compile_kernels(et_schema::Bench& bench,
                                          const std::vector<std::string>& traces,
                                          const std::vector<int>& architectures);

/// Removes the machine code of a benchmark whose sizes were changed, since launches have the grids
/// and numbers of the recorded sizes. Returns the number of removed kernels.
[[nodiscard]] std::size_t remove_kernels(et_schema::Bench& bench);

}  // namespace understudy::cli
