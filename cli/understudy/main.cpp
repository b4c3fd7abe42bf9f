#include <filesystem>
#include <string>
#include <vector>

#include "cli/common/own_program.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"

namespace {

constexpr const char* kBefore =
    "Portable, faithful benchmarks of machine-learning training, made from execution traces\n"
    "Usage: understudy VERB [ARGUMENTS]\n\nVerbs:\n";

constexpr const char* kAfter =
    "  help        Prints this help, or that of a verb\n"
    "\n"
    "Options:\n"
    "  -h,--help   Print this help message and exit\n"
    "  --version   Display program version information and exit\n"
    "\n"
    "EXAMPLES\n"
    "  understudy capture -o traces/ train.py       traces of a training loop\n"
    "  understudy generate traces/ -o bench.et      a benchmark that needs no model, no data, no "
    "Python\n"
    "  mpirun -np 8 replay bench.et                 `replay` is on the path by itself, too\n"
    "  understudy help replay                       the usual flags of a verb, with examples\n"
    "  source <(understudy completion bash)         flags and files on the tab key\n"
    "\n"
    "EXIT STATUS\n"
    "  that of the verb; 2 for an unknown verb\n"
    "\n"
    "READ\n"
    "  to begin           docs/first-hour.md\n"
    "  words in outputs   docs/glossary.md\n";

}  // namespace

/// The verb is the first word, or the name of a link to this program.
int main(int argc, char** argv) {
  return understudy::cli::run_main("understudy", argc, argv, [&] {
    std::vector<std::string> words(argv, argv + argc);
    if (!words.empty()) {
      words[0] = std::filesystem::path(words[0]).filename().string();
      if (understudy::cli::find_verb(words[0]) == nullptr) {
        words.erase(words.begin());
      }
    }
    return understudy::cli::run_verb({kBefore, understudy::cli::as_found_here(kAfter)}, words);
  });
}
