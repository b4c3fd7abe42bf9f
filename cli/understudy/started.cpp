// Verbs that are separate programs: `replay`, which needs LibTorch, and Python scripts.

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "cli/common/own_program.h"
#include "cli/common/verb.h"
#include "et_schema/base/error.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

int start(const std::string& program, int argc, char** argv) {
  become_program(program, {argv + 1, argv + argc});
  throw et_schema::run_failed("a program of the package cannot be started",
                              {.file = program,
                               .expected = "a program of this system",
                               .got = std::strerror(errno),
                               .hint = "install the package again, with the replayer"});
}

/// Runs bin/understudy-NAME of an installed package, or scripts/NAME of a clone.
int start_script(const std::string& name, int argc, char** argv) {
  const fs::path folder = fs::path(own_program()).parent_path();
  const std::string program = (folder / ("understudy-" + name)).string();
  if (!fs::exists(program)) {
    throw et_schema::usage_error("the installed package is needed",
                                 {.expected = "an installed package",
                                  .got = "a build tree: " + folder.string(),
                                  .hint = fmt::format("run scripts/{} of the clone", name)});
  }
  return start(program, argc, argv);
}

const Verb kCapture("capture", "Records a training loop: traces, profile, indices",
                    [](int argc, char** argv) { return start_script("capture", argc, argv); });
const Verb kFidelity("fidelity",
                     "Runs the original program and its replay in turn, and checks limits",
                     [](int argc, char** argv) { return start_script("fidelity", argc, argv); });
const Verb kReplay("replay", "Runs a benchmark, under mpirun on several ranks",
                   [](int argc, char** argv) { return start(sibling("replay"), argc, argv); });

}  // namespace
}  // namespace understudy::cli
