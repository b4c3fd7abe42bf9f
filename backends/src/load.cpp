#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "backends/backend.h"
#include "backends/device_communicator.h"
#include "et_schema/support/error.h"

namespace understudy::backends {

namespace {

constexpr const char* kHowToGetMpi =
    "install Open MPI (apt-get install openmpi-bin libopenmpi3), or run one rank without mpirun";
constexpr const char* kInstallOwn = "install the module that came with this program";

[[nodiscard]] std::string hint_for(const std::string& name) {
  if (name == "nccl") {
    return kInstallOwn;
  }
  return name == "mpi" ? kHowToGetMpi : "only 'mpi' and 'nccl' come with this version";
}

[[nodiscard]] et_schema::Error cannot_load(const std::string& name, const std::string& file,
                                           std::string expected, std::string got,
                                           std::string hint) {
  et_schema::ErrorContext context;
  context.file = file;
  context.expected = std::move(expected);
  context.got = std::move(got);
  context.hint = std::move(hint);
  return et_schema::usage_error(
      fmt::format("the communication backend '{}' cannot be loaded", name), std::move(context));
}

// dlsym gives an object pointer; POSIX has it converted to a function pointer.
template <typename Function>
[[nodiscard]] Function symbol(void* module, const char* name) {
  return reinterpret_cast<Function>(dlsym(module, name));
}

/// The function `make_symbol` of the module, which is of this version of the interface.
template <typename Make>
[[nodiscard]] Make maker_of(const std::string& name, const std::string& directory,
                            const char* make_symbol) {
  const std::string file =
      (std::filesystem::path(directory) / fmt::format("understudy_backend_{}.so", name)).string();
  if (!std::filesystem::exists(file)) {
    throw cannot_load(name, file, "the backend's module", "no such file",
                      name == "mpi" ? "build with -DUNDERSTUDY_MPI=ON, which needs libopenmpi-dev "
                                      "and openmpi-bin, or run one rank without mpirun"
                                    : hint_for(name));
  }
  // Global: the transport's own plug-ins look its symbols up. Never closed: it has threads and
  // handlers that outlive the backend.
  void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) {
    const char* reason = dlerror();
    throw cannot_load(name, file, "the libraries that the module needs",
                      reason == nullptr ? "an unknown failure" : reason, hint_for(name));
  }
  const auto version = symbol<BackendVersionFn>(module, kBackendVersionSymbol);
  const auto make = symbol<Make>(module, make_symbol);
  if (version == nullptr || make == nullptr) {
    throw cannot_load(name, file,
                      fmt::format("the symbols {} and {}", kBackendVersionSymbol, make_symbol),
                      "a library without them", kInstallOwn);
  }
  if (version() != kBackendVersion) {
    throw cannot_load(name, file, fmt::format("interface version {}", kBackendVersion),
                      fmt::format("version {}", version()), kInstallOwn);
  }
  return make;
}

}  // namespace

std::unique_ptr<Backend> load_backend(const std::string& name, const std::string& directory,
                                      const BackendOptions& options) {
  const auto make = maker_of<MakeBackendFn>(name, directory, kMakeBackendSymbol);
  return std::unique_ptr<Backend>(make(options));
}

std::unique_ptr<DeviceCommunicator> load_device_communicator(const std::string& name,
                                                             const std::string& directory,
                                                             Backend& host,
                                                             const DeviceOptions& options) {
  const auto make =
      maker_of<MakeDeviceCommunicatorFn>(name, directory, kMakeDeviceCommunicatorSymbol);
  return std::unique_ptr<DeviceCommunicator>(make(host, options));
}

}  // namespace understudy::backends
