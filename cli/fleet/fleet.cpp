#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/common/verb.h"
#include "fleet/database/connection.h"

namespace understudy::cli {
namespace {

constexpr const char* kBefore =
    "Benchmarks of many training jobs: rebuilt when traces change, replayed and compared every\n"
    "night, and a few of them that represent all.\n"
    "Usage: understudy fleet COMMAND DATABASE [ARGUMENTS]\n"
    "\n"
    "Commands:\n";

constexpr const char* kAfter = R"(
Options:
  -h,--help   Print this help message and exit; of a command: understudy fleet COMMAND --help
  --version   Display program version information and exit

EXAMPLES
  understudy fleet init fleet.db --store store/          a fleet in a file, benchmarks in a folder
  understudy fleet add fleet.db traces/ads --weight 0.12 --tag team=ads
  understudy fleet nightly fleet.db --jobs 2             safe to kill, to rerun, to start twice
  understudy fleet history fleet.db ads                  one job's results, night by night
  understudy fleet report fleet.db -o site/              pages for a browser: site/index.html
  understudy fleet select fleet.db --budget 20 --max-error 0.03 -o subset.yaml

EXIT STATUS
  that of the command; 2 for an unknown command
)";

const Verb kVerb(
    "fleet", "Keeps benchmarks of many jobs: rebuilt, replayed and compared every night",
    [](int argc, char** argv) {
      // If the parent process ignored SIGCHLD, the kernel would discard the exit status of child
      // programs.
      std::signal(SIGCHLD, SIG_DFL);
      try {
        return run_verb({"understudy fleet", "fleet ", "command", kBefore, kAfter},
                        {argv + 1, argv + argc});
      } catch (const nlohmann::json::exception& error) {  // files are read with errors of their own
        throw fleet::damaged_database({.file = argc > 2 ? argv[2] : "",
                                       .expected = "JSON as a fleet writes it",
                                       .got = error.what()});
      }
    });

}  // namespace
}  // namespace understudy::cli
