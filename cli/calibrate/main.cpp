#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "arguments.h"
#include "cli/common/run_main.h"
#include "et_schema/base/error.h"
#include "fit_files.h"

namespace understudy::cli {
namespace {

/// Becomes the program beside this one that measures, with the same arguments. Throws Error
/// (usage): it is not there.
[[noreturn]] void measure(char** argv) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string program = (self.parent_path() / "calibrate_here").string();
  execv(program.c_str(), argv);
  throw et_schema::usage_error(
      "this calibrate cannot measure: the program that does is missing",
      {.file = program,
       .field = "INPUT",
       .expected = "measurements that exist",
       .got = std::strerror(errno),
       .hint = "Name operator-times files or tables, or build with UNDERSTUDY_BUILD_REPLAYER."});
}

}  // namespace
}  // namespace understudy::cli

int main(int argc, char** argv) {
  return understudy::cli::run_main("calibrate", argc, argv, [&] {
    const understudy::cli::CalibrateArguments arguments =
        understudy::cli::read_calibrate_arguments(argc, argv);
    if (arguments.fit.inputs.empty()) {
      understudy::cli::measure(argv);
    }
    return understudy::cli::fit_files(arguments.fit);
  });
}
