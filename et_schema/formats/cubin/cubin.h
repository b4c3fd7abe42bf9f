#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// Location of a parameter in a kernel's parameter block.
struct CubinParameter {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  bool operator==(const CubinParameter&) const = default;
};

/// A kernel of a cubin.
struct CubinKernel {
  std::string name;
  std::vector<CubinParameter> parameters;  ///< in their order
  std::uint32_t registers = 0;             ///< per thread; 0: not recorded
  std::uint32_t static_shared = 0;         ///< bytes of shared memory that each block has
  std::uint32_t most_threads = 0;          ///< of a block; 0: as many as the GPU allows
};

/// Reads the kernels of a cubin and their parameters. A cubin is a 64-bit ELF file for CUDA with
/// sections `.nv.info.NAME` (EIATTR_KPARAM_INFO, EIATTR_MAX_THREADS), `.nv.shared.NAME` and
/// `.nv.info` (EIATTR_REGCOUNT), as `cuobjdump -elf` of CUDA 12 and 13 shows them. `file` names it
/// in errors. Throws Error (bad input) if the bytes are not such a file, are cut off, or have no
/// kernel.
[[nodiscard]] std::vector<CubinKernel> read_cubin(std::string_view bytes, const std::string& file);

}  // namespace understudy::et_schema
