#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// Why neither a replay nor source code has the kernel of a compiled graph.
inline constexpr const char* kNoKernelCode =
    "a compiled kernel: a benchmark does not hold its code; rank-R.compiled.json of a capture does";

/// Machine code, shared by the programs of all ranks. Equal where the bytes are.
struct MachineCode {
  std::shared_ptr<const std::string> bytes;
  bool operator==(const MachineCode& other) const {
    return bytes == other.bytes || (bytes && other.bytes && *bytes == *other.bytes);
  }
};

/// A kernel compiled for one architecture, and what a launch of it needs beside its arguments.
struct KernelBuild {
  int architecture = 0;  ///< compute capability, 10 × major + minor: 90 of sm_90
  MachineCode cubin;
  std::string function;  ///< the kernel's symbol in the cubin
  std::int64_t warps = 1;
  std::int64_t cluster_blocks = 1;  ///< blocks of a cluster; the grid has so many times its width
  std::int64_t shared_bytes = 0;    ///< dynamic shared memory of a block
  std::int64_t scratch_bytes = 0;   ///< of each block of the grid, in the device's memory
  std::int64_t profile_scratch_bytes = 0;  ///< likewise, for what a profiler in the kernel writes
  bool is_cooperative = false;             ///< all blocks run at once
  bool is_dependent = false;   ///< may begin before the kernel before it on its stream has ended
  std::int64_t registers = 0;  ///< of a thread
  bool operator==(const KernelBuild&) const = default;
};

/// A Triton kernel of one specialisation, compiled ahead of time.
struct CompiledKernel {
  std::string key;   ///< 16 hexadecimal digits: of its source, signature, constants and options
  std::string name;  ///< as its nodes are called
  /// Triton's types of the arguments that a launch passes, constants left out: "*fp32" a pointer,
  /// "i32", "fp32", … numbers.
  std::vector<std::string> parameters;
  std::vector<KernelBuild> builds;  ///< by ascending architecture, each once
  bool operator==(const CompiledKernel&) const = default;
};

/// What a C++ kernel of a compiled graph did with each of its arguments, of the text that stands
/// behind them: "r" read, "w" wrote, "rw" both, "-" a number. Nothing unless there is a word for
/// each of the arguments.
[[nodiscard]] std::optional<std::vector<std::string_view>> kernel_roles(std::string_view text,
                                                                        std::size_t arguments);

/// What a recorded launch of a kernel says beside its arguments.
struct KernelLaunch {
  std::string_view key;  ///< CompiledKernel::key; refers to the text that was read
  std::array<std::int64_t, 3> grid{};
};

/// Reads "launch KEY X Y Z", which a capture puts behind the arguments and their roles.
/// Nothing for other texts, and for a grid that CUDA has not (X from 0 to 2^31 - 1, Y and Z to
/// 65,535).
[[nodiscard]] std::optional<KernelLaunch> kernel_launch(std::string_view text);

/// Bytes of a parameter of Triton's type: a pointer has 8. Nothing for types whose packing is not
/// known here (tensor descriptors). From Triton 3.6, backends/nvidia/driver.py.
[[nodiscard]] std::optional<std::size_t> parameter_bytes(std::string_view type);

/// The build that runs on a device of this compute capability: the highest of its major version up
/// to its minor one. From 9.0 on Triton compiles for one architecture alone ("sm_90a"), and only
/// the same one runs. Null where none does.
[[nodiscard]] const KernelBuild* find_build(const CompiledKernel& kernel, int architecture);

}  // namespace understudy::et_schema
