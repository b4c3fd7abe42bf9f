#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "arguments.h"
#include "cli/common/own_program.h"
#include "cli/common/verb.h"
#include "et_schema/base/error.h"
#include "fit_files.h"

namespace understudy::cli {
namespace {

/// Replaces this process by the program that measures, with the same arguments. Throws Error
/// (usage) if this build lacks it.
[[noreturn]] void measure(int argc, char** argv) {
  const std::string program = sibling("replay");
  std::vector<std::string> words(argv + 1, argv + argc);
  words.insert(words.begin(), "--verb=calibrate");
  become_program(program, std::move(words));
  throw et_schema::usage_error(
      "this calibrate cannot measure: the program that does is missing",
      {.file = program,
       .field = "INPUT",
       .expected = "measurements that exist",
       .got = std::strerror(errno),
       .hint = "Name operator-times files or tables, or build with UNDERSTUDY_BUILD_REPLAYER."});
}

const Verb kVerb("calibrate",
                 "Writes a platform file for predictions, from this machine or from measurements",
                 [](int argc, char** argv) {
                   const CalibrateArguments arguments = read_calibrate_arguments(argc, argv);
                   if (arguments.fit.inputs.empty()) {
                     measure(argc, argv);
                   }
                   return fit_files(arguments.fit);
                 });

}  // namespace
}  // namespace understudy::cli
