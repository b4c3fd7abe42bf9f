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
    int architecture = 0;  ///< 90 of sm_90; 0 of a C++ kernel
    std::string why;
  };
  std::string compiler;     ///< "Triton 3.6.0, PyTorch 2.11.0"
  std::size_t kernels = 0;  ///< with machine code for at least one GPU or processor
  std::size_t cubins = 0;
  std::size_t libraries = 0;
  std::uint64_t bytes = 0;     ///< of both
  std::uint64_t launches = 0;  ///< kernel instructions of all ranks that have machine code
  std::uint64_t stubs = 0;     ///< those that have none
  std::vector<Failure> failures;
};

/// What to compile ahead.
struct KernelChoice {
  std::vector<int> architectures;  ///< Triton's kernels, for these: 90 of sm_90
  bool cpp = false;                ///< C++ kernels
  /// The flag that was given; null: none.
  [[nodiscard]] const char* flag() const {
    return !architectures.empty() ? "--kernels" : cpp ? "--compile-kernels" : nullptr;
  }
};

void add_kernels_options(CLI::App& app, KernelChoice& choice);

/// Compiles the kernels that the programs launch, from the rank-R.compiled.json beside the traces,
/// and puts them into the programs; a C++ kernel that has machine code is launched by its key from
/// then on, others are counted (Loss::kUncompiledKernels). Compiling is done by
/// scripts/compile_kernels, a program of its own: it needs a Python with Triton, and no GPU; for
/// C++ a Python with PyTorch, and g++. Throws Error: bad input (no such kernel, no such file),
/// failed (no compiler, no such script).
[[nodiscard]] KernelsMade compile_kernels(et_schema::Bench& bench,
                                          const std::vector<std::string>& traces,
                                          const KernelChoice& choice);

/// Takes the machine code out of a benchmark whose sizes were changed: launches have the grids and
/// numbers of the recorded sizes. How many kernels it had.
[[nodiscard]] std::size_t remove_kernels(et_schema::Bench& bench);

[[nodiscard]] nlohmann::ordered_json kernels_json(const KernelsMade& made);

}  // namespace understudy::cli
