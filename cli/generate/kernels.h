#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "et_schema/bench/bench.h"

namespace understudy::cli {

/// What compiling a benchmark's kernels came to.
struct KernelsMade {
  struct Failure {
    std::string name;
    int architecture = 0;
    std::string why;
  };
  std::string compiler;     ///< "Triton 3.6.0"
  std::size_t kernels = 0;  ///< with machine code for at least one architecture
  std::size_t cubins = 0;
  std::uint64_t bytes = 0;     ///< of the cubins
  std::uint64_t launches = 0;  ///< kernel instructions of all ranks that have machine code
  std::uint64_t stubs = 0;     ///< those that have none
  std::vector<Failure> failures;
};

void add_kernels_option(CLI::App& app, std::vector<int>& architectures);

/// Compiles the Triton kernels that the programs launch for these architectures, from the
/// rank-R.compiled.json beside the traces, and puts them into the programs. Compiling is done by
/// scripts/compile_kernels, a program of its own: it needs a Python with Triton, and no GPU. Throws
/// Error: bad input (no recorded launch, no such file), failed (no Triton, no such script).
[[nodiscard]] KernelsMade compile_kernels(et_schema::Bench& bench,
                                          const std::vector<std::string>& traces,
                                          const std::vector<int>& architectures);

/// Takes the machine code out of a benchmark whose sizes were changed: launches have the grids and
/// numbers of the recorded sizes. How many kernels it had.
[[nodiscard]] std::size_t remove_kernels(et_schema::Bench& bench);

[[nodiscard]] nlohmann::ordered_json kernels_json(const KernelsMade& made);

}  // namespace understudy::cli
