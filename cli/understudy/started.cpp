// Verbs that are separate programs: `replay`, which needs LibTorch, and Python scripts.

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/common/output.h"
#include "cli/common/own_program.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "et_schema/base/error.h"
#include "et_schema/base/shipped.h"

namespace understudy::cli {
namespace {

[[noreturn]] int start(const std::string& program, int argc, char** argv) {
  become_program(program, {argv + 1, argv + argc});
}

/// A clone's script of that name; the Python package runs such a verb before it starts this
/// program.
int start_script(const std::string& name, int argc, char** argv) {
  if (!et_schema::clone_folder().empty()) {
    return start(et_schema::shipped_folder("scripts") + "/" + name, argc, argv);
  }
  throw et_schema::usage_error(
      "this verb runs in Python",
      {.expected = fmt::format("the package's console script, or scripts/{} of a clone", name),
       .got = own_program(),
       .hint = "pip install the wheel that scripts/wheel makes"});
}

/// The fleet's package lies beside Understudy's own (capture/understudy/start.py).
int start_fleet(int argc, char** argv) {
  const std::vector<std::string> pythons = et_schema::pythons();
  if (pythons.empty()) {
    throw et_schema::run_failed(
        "fleet runs in Python",
        {.expected = "python3 on PATH, or UNDERSTUDY_PYTHON", .got = "none"});
  }
  std::vector<std::string> words =
      et_schema::python_words(pythons.front(), "understudy_fleet.command");
  words.insert(words.end(), argv + 1, argv + argc);
  // Of an installation of CMake, and of a build in another place, Python does not know the
  // programs.
  ::setenv("UNDERSTUDY_BIN", std::filesystem::path(own_program()).parent_path().c_str(), 0);
  become_program(pythons.front(), {words.begin() + 1, words.end()});
}

const Verb kFleet("fleet",
                  "Keeps benchmarks of many jobs: rebuilt, replayed and compared every night",
                  start_fleet);
const Verb kCapture("capture", "Records a training loop: traces, profile, indices",
                    [](int argc, char** argv) { return start_script("capture", argc, argv); });

int print_examples(int argc, char** argv) {
  CommandLine({.name = "understudy examples",
               .description = "Prints the folder of a recorded profile, scripts, notebooks and a "
                              "workflow for a forge, to copy from.",
               .examples = "  cp -r $(understudy examples) .\n"
                           "  understudy capture -o mlp $(understudy examples)/mlp.py"})
      .parse(argc, argv);
  print_output(et_schema::package_folder() + "/examples\n");
  return kStatusOk;
}

const Verb kExamples("examples", "Prints the folder of a profile and scripts to try",
                     print_examples);
const Verb kReplay("replay", "Runs a benchmark, under mpirun on several ranks",
                   [](int argc, char** argv) { return start(sibling("replay"), argc, argv); });

}  // namespace
}  // namespace understudy::cli
