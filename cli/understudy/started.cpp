// Verbs that are separate programs: `replay`, which needs LibTorch, and Python scripts.

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "cli/common/output.h"
#include "cli/common/own_program.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "et_schema/base/error.h"

namespace understudy::cli {
namespace {

int start(const std::string& program, int argc, char** argv) {
  become_program(program, {argv + 1, argv + argc});
  throw et_schema::run_failed("a program of the package cannot be started",
                              {.file = program,
                               .expected = "a program of this system",
                               .got = std::strerror(errno),
                               .hint = "install the package again, with the replayer"});
}

/// A clone's script of that name; the Python package runs such a verb before it starts this
/// program.
int start_script(const std::string& name, int argc, char** argv) {
  const std::string script = shipped_folder("scripts") + "/" + name;
  if (std::error_code error; std::filesystem::exists(script, error)) {
    return start(script, argc, argv);
  }
  throw et_schema::usage_error(
      "this verb runs in Python",
      {.expected = fmt::format("the package's console script, or scripts/{} of a clone", name),
       .got = own_program(),
       .hint = "pip install the wheel that scripts/wheel makes"});
}

const Verb kCapture("capture", "Records a training loop: traces, profile, indices",
                    [](int argc, char** argv) { return start_script("capture", argc, argv); });
const Verb kFidelity("fidelity",
                     "Runs the original program and its replay in turn, and checks limits",
                     [](int argc, char** argv) { return start_script("fidelity", argc, argv); });
/// A wheel's programs lie within the Python package.
int print_examples(int, char**) {
  const auto in_package =
      std::filesystem::path(own_program()).parent_path().parent_path() / "examples";
  print_output((std::filesystem::is_directory(in_package)
                    ? in_package.string()
                    : shipped_folder("capture/understudy/examples")) +
               "\n");
  return kStatusOk;
}

const Verb kExamples("examples", "Prints the folder of a profile and a script to try",
                     print_examples);
const Verb kReplay("replay", "Runs a benchmark, under mpirun on several ranks",
                   [](int argc, char** argv) { return start(sibling("replay"), argc, argv); });

}  // namespace
}  // namespace understudy::cli
