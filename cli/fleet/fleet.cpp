#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/common/verb.h"
#include "fleet/database/connection.h"

namespace understudy::cli {
namespace {

constexpr const char* kBefore =
    "Benchmarks of many training jobs: rebuilt when traces change, replayed and compared every\n"
    "night, and a few of them that represent all.\n"
    "Usage: fleet COMMAND DATABASE [ARGUMENTS]\n"
    "\n"
    "Commands:\n";

constexpr const char* kAfter =
    "\n"
    "Options:\n"
    "  -h,--help   Print this help message and exit; of a command: fleet COMMAND --help\n"
    "  --version   Display program version information and exit\n"
    "\n"
    "EXAMPLES\n"
    "  fleet init fleet.db --store store/          a fleet in a file, benchmarks in a folder\n"
    "  fleet add fleet.db traces/ads --weight 0.12 --tag team=ads\n"
    "  fleet nightly fleet.db --jobs 2             safe to kill, to rerun, to start twice\n"
    "  fleet history fleet.db ads                  one job's results, night by night\n"
    "  fleet platforms fleet.db --baseline a100    ratios, ranking, what drives them\n"
    "  fleet report fleet.db -o site/              pages for a browser: site/index.html\n"
    "  fleet select fleet.db --budget 20 --max-error 0.03 -o subset.yaml\n"
    "\n"
    "EXIT STATUS\n"
    "  that of the command; 2 for an unknown command\n";

const Verb kVerb(
    "fleet", "Keeps benchmarks of many jobs: rebuilt, replayed and compared every night",
    [](int argc, char** argv) {
      // If the parent process ignored SIGCHLD, the kernel would discard the exit status of child
      // programs.
      std::signal(SIGCHLD, SIG_DFL);
      try {
        return run_verb({"fleet", "fleet ", "command", kBefore, kAfter}, {argv + 1, argv + argc});
      } catch (const nlohmann::json::exception& error) {  // files are read with errors of their own
        throw fleet::damaged_database({.file = argc > 2 ? argv[2] : "",
                                       .expected = "JSON as a fleet writes it",
                                       .got = error.what()});
      }
    });

}  // namespace
}  // namespace understudy::cli
