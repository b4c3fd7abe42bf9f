#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// Why a replay or emitted source lacks the kernel of a compiled graph.
inline constexpr const char* kNoKernelCode =
    "a compiled kernel: a benchmark does not hold its code; rank-R.compiled.json of a capture does";

/// Machine code, shared by the programs of all ranks. Compared by its bytes.
struct MachineCode {
  std::shared_ptr<const std::string> bytes;
  bool operator==(const MachineCode& other) const {
    return bytes == other.bytes || (bytes && other.bytes && *bytes == *other.bytes);
  }
};

/// A kernel compiled for one architecture, with its launch parameters.
struct KernelBuild {
  int architecture = 0;  ///< compute capability, 10 × major + minor: 90 for sm_90
  MachineCode cubin;
  std::string function;  ///< the kernel's symbol in the cubin
  std::int64_t warps = 1;
  std::int64_t cluster_blocks = 1;         ///< blocks per cluster; multiplies the grid's width
  std::int64_t shared_bytes = 0;           ///< dynamic shared memory per block
  std::int64_t scratch_bytes = 0;          ///< device memory per block of the grid
  std::int64_t profile_scratch_bytes = 0;  ///< likewise, for a profiler inside the kernel
  bool is_cooperative = false;             ///< all blocks run at once
  bool is_dependent = false;   ///< may begin before the preceding kernel of its stream has ended
  std::int64_t registers = 0;  ///< per thread
  bool operator==(const KernelBuild&) const = default;
};

/// A Triton kernel of one specialisation, compiled ahead of time.
struct CompiledKernel {
  std::string key;   ///< 16 hexadecimal digits: hash of source, signature, constants and options
  std::string name;  ///< as in its nodes
  /// Triton's types of the arguments passed at launch, without constants: "*fp32" for a pointer,
  /// "i32", "fp32", … for numbers.
  std::vector<std::string> parameters;
  std::vector<KernelBuild> builds;  ///< by ascending architecture, each once
  bool operator==(const CompiledKernel&) const = default;
};

/// Parses the text that follows the arguments of a compiled graph's C++ kernel. The text has a word
/// for each argument: "r" (read), "w" (written), "rw" (both) or "-" (a number). Returns nothing if
/// the number of words is not `arguments`.
[[nodiscard]] std::optional<std::vector<std::string_view>> kernel_roles(std::string_view text,
                                                                        std::size_t arguments);

/// A kernel's recorded launch, beside its arguments.
struct KernelLaunch {
  std::string_view key;  ///< CompiledKernel::key; refers to the text that was read
  std::array<std::int64_t, 3> grid{};
};

/// Parses "launch KEY X Y Z", which a capture appends to the arguments and their roles. Returns
/// nothing for other texts and for a grid outside of CUDA's limits (X: 0 to 2^31 - 1, Y and Z: 0 to
/// 65,535).
[[nodiscard]] std::optional<KernelLaunch> kernel_launch(std::string_view text);

/// Returns the bytes of a parameter of this Triton type (a pointer: 8). Returns nothing for types
/// of unknown packing (tensor descriptors). From Triton 3.6, backends/nvidia/driver.py.
[[nodiscard]] std::optional<std::size_t> parameter_bytes(std::string_view type);

/// Returns the build for a device of this compute capability: the highest with the same major
/// version and at most its minor version. From 9.0 on, Triton's code runs on one architecture only
/// ("sm_90a"), so the minor version must be equal, too. Returns null if no build fits.
[[nodiscard]] const KernelBuild* find_build(const CompiledKernel& kernel, int architecture);

}  // namespace understudy::et_schema
