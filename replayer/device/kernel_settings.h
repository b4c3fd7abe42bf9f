#pragma once

#include <map>
#include <string>

namespace understudy::replayer {

/// Names and values, as in `kernel_settings` and `variables` of capture.json (docs/formats.md).
using Settings = std::map<std::string, std::string>;

/// Those variables of this process that decide kernels, threads or the heap: of CUDA's libraries
/// and of a CPU's (OpenMP, MKL, oneDNN, LibTorch's instruction set, malloc).
[[nodiscard]] Settings own_variables();

/// Sets environment variables that CUDA's libraries read when they are loaded: those of `recorded`
/// that is_kernel_variable() allows and that the user's environment does not set. To be called
/// before any device is opened. Returns the recorded names with the values in force now: "VALUE",
/// or "VALUE, recorded OTHER" if the user's value differs; of NCCL's that name a host's own things
/// "recorded, not set".
[[nodiscard]] Settings apply_variables(const Settings& recorded);

/// True of the variables that a benchmark may set in the process that replays it: those of cuBLAS,
/// cuDNN and LibTorch's allocator and matmul, those that tune NCCL, and never a path.
[[nodiscard]] bool is_kernel_variable(const std::string& name, const std::string& value);

/// Sets what decides which kernels LibTorch takes (TF32, cuDNN's benchmark mode, attention's
/// backends, …). Returns all settings that were recorded: "VALUE" if it is in force now, "VALUE,
/// recorded OTHER" if this LibTorch has another value, "unknown, recorded OTHER" if it does not
/// know the name or the value. The threads of an operator are only reported: set them before.
/// `own`: the user's variables (own_variables() before apply_variables()), which count more than
/// what was recorded of the settings that they decide.
[[nodiscard]] Settings apply_kernel_settings(const Settings& recorded, const Settings& own = {});

}  // namespace understudy::replayer
