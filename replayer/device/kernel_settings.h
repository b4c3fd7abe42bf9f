#pragma once

#include <map>
#include <string>

namespace understudy::replayer {

/// Names and values, as in `kernel_settings` and `variables` of capture.json (docs/formats.md).
using Settings = std::map<std::string, std::string>;

/// Returns this process's variables that decide kernels, threads or the heap: of CUDA's libraries
/// and of the CPU's (OpenMP, MKL, oneDNN, LibTorch's instruction set, malloc).
[[nodiscard]] Settings own_variables();

/// Sets environment variables that CUDA's libraries read when they are loaded: those of `recorded`
/// that is_kernel_variable() allows and the user's environment does not set. Must be called before
/// a device is opened. Returns the recorded names with the values in force: "VALUE", or "VALUE,
/// recorded OTHER" if the user's value differs; "recorded, not set" for NCCL variables that name
/// properties of a host.
[[nodiscard]] Settings apply_variables(const Settings& recorded);

/// Returns true for variables that a benchmark may set in the replaying process: those of cuBLAS,
/// cuDNN, LibTorch's allocator and matmul, and NCCL's tuning variables. Never true for a path.
[[nodiscard]] bool is_kernel_variable(const std::string& name, const std::string& value);

/// Applies the recorded settings that decide LibTorch's choice of kernels (TF32, cuDNN's benchmark
/// mode, attention backends, …). Returns all recorded settings: "VALUE" if in force, "VALUE,
/// recorded OTHER" if this LibTorch has another value, "unknown, recorded OTHER" if it does not
/// know the name or the value. The threads of an operator are only reported; they must be set
/// before. `own` holds the user's variables (own_variables() before apply_variables()), which
/// override recorded settings.
[[nodiscard]] Settings apply_kernel_settings(const Settings& recorded, const Settings& own = {});

}  // namespace understudy::replayer
