#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace understudy::backends {

/// What a module makes.
enum class ModuleKind : std::uint8_t {
  kMpiJob,    ///< a Backend: ranks that meet by MPI
  kStoreJob,  ///< a Backend: ranks that meet at a store
  kDevices    ///< a DeviceCommunicator: tensors from GPU to GPU
};

/// A module that comes with this version: the library understudy_backend_NAME.so.
struct Module {
  std::string_view name;
  ModuleKind kind;
  std::string_view how_to_build;  ///< where the library is missing
  std::string_view how_to_get;    ///< where a library that it needs is
};

inline constexpr std::string_view kInstallOwn = "install the module that came with this program";

/// Of each kind the first is the one that is used.
inline constexpr std::array<Module, 3> kModules = {{
    {"mpi", ModuleKind::kMpiJob,
     "build with -DUNDERSTUDY_MPI=ON, which needs libopenmpi-dev and openmpi-bin, start the ranks "
     "with torchrun --no-python, or run one rank without mpirun",
     "install Open MPI (apt-get install openmpi-bin libopenmpi3), start the ranks with torchrun "
     "--no-python, or run one rank without mpirun"},
    {"tcp", ModuleKind::kStoreJob, kInstallOwn, kInstallOwn},
    {"nccl", ModuleKind::kDevices, kInstallOwn, kInstallOwn},
}};

}  // namespace understudy::backends
