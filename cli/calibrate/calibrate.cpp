#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "cli/common/own_program.h"
#include "cli/common/verb.h"
#include "fit_files.h"

namespace understudy::cli {
namespace {

/// Replaces this process by the program that measures, with the same arguments.
[[noreturn]] void measure(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  words.insert(words.begin(), "--verb=calibrate");
  become_program(sibling("replay"), std::move(words));
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
