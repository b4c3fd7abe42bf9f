#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/base/shared_library.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/backends/interface/device_communicator.h"
#include "replayer/backends/interface/launcher.h"

namespace understudy::backends {

namespace {

/// The kind of object that a module makes.
enum class ModuleKind : std::uint8_t {
  kMpiJob,    ///< a Backend whose ranks connect through MPI
  kStoreJob,  ///< a Backend whose ranks connect through a store
  kDevices    ///< a DeviceCommunicator, which sends tensors from GPU to GPU
};

/// A module that comes with this version: the library understudy_backend_NAME.so.
struct Module {
  std::string_view name;
  ModuleKind kind;
  std::string_view how_to_build;  ///< hint if the module is missing
  std::string_view how_to_get;    ///< hint if a library that the module needs is missing
};

constexpr std::string_view kInstallOwn = "install the module that came with this program";

/// The first module of each kind is used.
constexpr std::array<Module, 3> kModules = {{
    {"mpi", ModuleKind::kMpiJob,
     "build with -DUNDERSTUDY_MPI=ON, which needs libopenmpi-dev and openmpi-bin, start the ranks "
     "with torchrun --no-python, or run one rank without mpirun",
     "install Open MPI (apt-get install openmpi-bin libopenmpi3), start the ranks with torchrun "
     "--no-python, or run one rank without mpirun"},
    {"tcp", ModuleKind::kStoreJob, kInstallOwn, kInstallOwn},
    {"nccl", ModuleKind::kDevices, kInstallOwn, kInstallOwn},
}};

[[nodiscard]] const Module* find_module(std::string_view name) {
  const auto row = std::ranges::find(kModules, name, &Module::name);
  return row == kModules.end() ? nullptr : &*row;
}

/// Returns the name of the module that is used for `kind`.
[[nodiscard]] std::string name_of(ModuleKind kind) {
  const auto row = std::ranges::find(kModules, kind, &Module::kind);
  UNDERSTUDY_ASSERT(row != kModules.end());
  return std::string(row->name);
}

[[nodiscard]] std::string names_that_come() {
  std::string names;
  for (const Module& row : kModules) {
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", row.name);
  }
  return fmt::format("only {} come with this version", names);
}

/// Returns the hint `text` of the module; for unknown modules, the known names.
[[nodiscard]] std::string hint_for(std::string_view name, std::string_view Module::*text) {
  const Module* module = find_module(name);
  return module == nullptr ? names_that_come() : std::string(module->*text);
}

[[nodiscard]] et_schema::Error cannot_load(const std::string& name, const std::string& file,
                                           std::string expected, std::string got,
                                           std::string hint) {
  return et_schema::usage_error(
      fmt::format("the communication backend '{}' cannot be loaded", name),
      {.file = file,
       .expected = std::move(expected),
       .got = std::move(got),
       .hint = std::move(hint)});
}

/// Loads the module and returns its function `make_symbol`. Checks the interface version.
template <typename Make>
[[nodiscard]] Make maker_of(const std::string& name, const std::string& directory,
                            const char* make_symbol) {
  const std::string file =
      (std::filesystem::path(directory) / fmt::format("understudy_backend_{}.so", name)).string();
  if (!std::filesystem::exists(file)) {
    throw cannot_load(name, file, "the backend's module", "no such file",
                      hint_for(name, &Module::how_to_build));
  }
  // Global, because the transport's plug-ins look up its symbols. Never closed, because its threads
  // and handlers outlive the backend.
  const et_schema::SharedLibrary module(file, RTLD_GLOBAL, [&](std::string, std::string got) {
    return cannot_load(name, file, "the libraries that the module needs", std::move(got),
                       hint_for(name, &Module::how_to_get));
  });
  auto* const version =
      module.function<std::remove_pointer_t<BackendVersionFn>>(kBackendVersionSymbol);
  auto* const make = module.function<std::remove_pointer_t<Make>>(make_symbol);
  if (version == nullptr || make == nullptr) {
    throw cannot_load(name, file,
                      fmt::format("the symbols {} and {}", kBackendVersionSymbol, make_symbol),
                      "a library without them", std::string(kInstallOwn));
  }
  if (version() != kBackendVersion) {
    throw cannot_load(name, file, fmt::format("interface version {}", kBackendVersion),
                      fmt::format("version {}", version()), std::string(kInstallOwn));
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
  const bool by_store = launch && launch->meeting == Launch::Meeting::kStore;
  return load_backend(name_of(by_store ? ModuleKind::kStoreJob : ModuleKind::kMpiJob),
                      module_directory(), options);
}

std::unique_ptr<DeviceCommunicator> load_device_communicator(const std::string& name,
                                                             const std::string& directory,
                                                             Backend& host,
                                                             const DeviceOptions& options) {
  const auto make =
      maker_of<MakeDeviceCommunicatorFn>(name, directory, kMakeDeviceCommunicatorSymbol);
  return std::unique_ptr<DeviceCommunicator>(make(host, options));
}

std::unique_ptr<DeviceCommunicator> connect_devices(Backend& host, const DeviceOptions& options) {
  return load_device_communicator(name_of(ModuleKind::kDevices), module_directory(), host, options);
}

}  // namespace understudy::backends
