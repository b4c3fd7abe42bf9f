#pragma once

#include <map>
#include <string>

namespace understudy::replayer {

/// Names and values as capture.json's `kernel_settings` and `variables` have them
/// (docs/formats.md).
using Settings = std::map<std::string, std::string>;

/// Sets environment variables that CUDA's libraries read when they are loaded: those of `recorded`
/// that is_kernel_variable() allows and that the user's environment leaves open. To be called
/// before any device is opened. Returns those in force now, of the recorded names: "VALUE", or
/// "VALUE, recorded OTHER" where the user's differs.
[[nodiscard]] Settings apply_variables(const Settings& recorded);

/// True of the variables that a benchmark may set in the process that replays it: those of cuBLAS,
/// cuDNN, NCCL and LibTorch's allocator and matmul, and never a path.
[[nodiscard]] bool is_kernel_variable(const std::string& name, const std::string& value);

/// Sets what decides which kernels LibTorch takes (TF32, cuDNN's benchmark mode, attention's
/// backends, …). Returns all that were recorded: "VALUE" where it holds now, "VALUE, recorded
/// OTHER" where this LibTorch has it otherwise, "unknown, recorded OTHER" of a name or a value that
/// it does not know. The threads of an operator are told alone: set them before.
[[nodiscard]] Settings apply_kernel_settings(const Settings& recorded);

}  // namespace understudy::replayer
