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

// What makes another benchmark of one: other sizes, no names.

/// Another size of the data: FROM:TO, at most one of them.
struct BatchTexts {
  std::string batch;
  std::string size;
  /// Nothing where none was given. Throws Error (usage).
  [[nodiscard]] std::optional<generator::BatchSize> parsed() const;
};
/// Adds --batch and --size.
void add_batch_options(CommandLine& line, BatchTexts& texts);

/// What --obfuscate replaced.
struct Hidden {
  std::string names_path;      ///< who was who
  generator::Obfuscated what;  ///< its benchmark moved out of it
};
/// The file of names is written beside a benchmark, and a benchmark's other outputs are made of it
/// later. Throws Error (usage) without `output`, or with a folder for Chakra traces.
void refuse_obfuscation(const std::string& output, const std::string& chakra_folder);
/// Takes from the benchmark what the original was called; what stood for what is written for its
/// owner.
[[nodiscard]] Hidden hide(et_schema::Bench& bench, const std::string& names_path);

/// All that was done to a benchmark.
struct Changes {
  /// With another batch size.
  struct Batched {
    generator::BatchSize size;
    generator::BatchedBench bench;  ///< its benchmark moved out of it
  };
  std::optional<Batched> batched = {};
  std::optional<et_schema::ScaledJob> scaled = {};
  std::uint64_t scaled_dropped_bodies = 0;  ///< operators without what was recorded below them
  std::size_t removed_kernels = 0;          ///< whose machine code does not fit changed sizes
  std::optional<Hidden> hidden = {};
};
/// A key for each: docs/formats.md, "generate --format json".
void add_changes(nlohmann::ordered_json& document, const Changes& changes);
/// A section for each of these keys.
void add_change_sections(pages::Page& page, const nlohmann::ordered_json& document,
                         const Changes& changes);

/// What compiling a benchmark's kernels came to.
struct KernelsMade {
  struct Failure {
    std::string name;
    int architecture = 0;  ///< 90 of sm_90
    std::string why;
  };
  std::string compiler;     ///< "Triton 3.6.0"
  std::size_t kernels = 0;  ///< with machine code for at least one GPU
  std::size_t cubins = 0;
  std::uint64_t bytes = 0;     ///< of them
  std::uint64_t launches = 0;  ///< kernel instructions of all ranks that have machine code
  std::uint64_t stubs = 0;     ///< those that have none
  std::vector<Failure> failures;
};

/// Adds --kernels.
void add_kernels_option(CommandLine& line, std::vector<int>& architectures);

/// Compiles the Triton kernels that the programs launch for these architectures, from the
/// rank-R.compiled.json beside the traces, and puts them into the programs. Compiling is done by
/// scripts/compile_kernels, a program of its own: it needs a Python with Triton, and no GPU. Throws
/// Error: bad input (no such kernel, no such file), failed (no compiler, no such script).
[[nodiscard]] KernelsMade compile_kernels(et_schema::Bench& bench,
                                          const std::vector<std::string>& traces,
                                          const std::vector<int>& architectures);

/// Takes the machine code out of a benchmark whose sizes were changed: launches have the grids and
/// numbers of the recorded sizes. How many kernels it had.
[[nodiscard]] std::size_t remove_kernels(et_schema::Bench& bench);

[[nodiscard]] nlohmann::ordered_json kernels_json(const KernelsMade& made);

}  // namespace understudy::cli
