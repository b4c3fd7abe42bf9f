#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "et_schema/base/error.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::backends {
namespace {

const std::string kModules = UNDERSTUDY_TEST_MODULES;

et_schema::Error error_of_loading(const std::string& name, const std::string& directory) {
  try {
    (void)load_backend(name, directory, {});
  } catch (const et_schema::Error& error) {
    return error;
  }
  throw std::logic_error("it was loaded");
}

TEST(LoadBackend, ModuleThatIsNotThere) {
  const et_schema::Error error = error_of_loading("mpi", "/nowhere");
  EXPECT_EQ(error.kind(), et_schema::ErrorKind::kUsage);
  EXPECT_EQ(
      et_schema::to_text(error),
      et_schema::to_text(et_schema::usage_error(
          "the communication backend 'mpi' cannot be loaded",
          {.file = "/nowhere/understudy_backend_mpi.so",
           .field = "",
           .expected = "the backend's module",
           .got = "no such file",
           .hint =
               "build with -DUNDERSTUDY_MPI=ON, which needs libopenmpi-dev and "
               "openmpi-bin, start the ranks with torchrun --no-python, or run one rank without "
               "mpirun"})));
}

TEST(LoadBackend, ModuleWithoutALibraryOfItsOwnThatIsNotThere) {
  const et_schema::Error error = error_of_loading("tcp", "/nowhere");
  EXPECT_EQ(error.context().hint, "install the module that came with this program");
}

TEST(LoadBackend, LibraryOfTheModuleIsMissing) {
  const et_schema::Error error = error_of_loading("needy", kModules);
  EXPECT_EQ(error.kind(), et_schema::ErrorKind::kUsage);
  EXPECT_EQ(error.context().expected, "the libraries that the module needs");
  EXPECT_EQ(error.context().got,
            "libunderstudy_absent_library.so: cannot open shared object file: No such file or "
            "directory");
}

TEST(LoadBackend, ModuleOfANewerVersion) {
  const et_schema::Error error = error_of_loading("newer", kModules);
  EXPECT_EQ(error.kind(), et_schema::ErrorKind::kUsage);
  EXPECT_EQ(error.context().expected, fmt::format("interface version {}", kBackendVersion));
  EXPECT_EQ(error.context().got, fmt::format("version {}", kBackendVersion + 1));
  EXPECT_EQ(error.context().hint, "install the module that came with this program");
}

TEST(LoadBackend, LibraryThatIsNoModule) {
  const et_schema::Error error = error_of_loading("symbolless", kModules);
  EXPECT_EQ(error.kind(), et_schema::ErrorKind::kUsage);
  EXPECT_EQ(error.context().got, "a library without them");
}

}  // namespace
}  // namespace understudy::backends
