#include "verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/common/command_line.h"
#include "et_schema/base/error.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

// In Python: of an installed package, bin/understudy-NAME; of a clone, scripts/NAME.
constexpr Verb kCapture = {"capture", "Records a training loop: traces, profile, indices"};
constexpr Verb kFidelity = {"fidelity",
                            "Runs the original program and its replay in turn, and checks limits"};

// Beside `understudy` in a prefix, too.
constexpr std::string_view kOnThePath = "replay";

bool is_script(std::string_view verb) {
  return verb == kCapture.name || verb == kFidelity.name;
}

[[noreturn]] void refuse(std::string summary, std::string expected, std::string got,
                         std::string hint) {
  throw et_schema::usage_error(
      std::move(summary),
      {.expected = std::move(expected), .got = std::move(got), .hint = std::move(hint)});
}

std::string names_of(const std::vector<Verb>& verbs) {
  std::string names;
  for (const Verb& verb : verbs) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", verb.name);
  }
  return names;
}

void check_verb(const std::string& verb) {
  const std::vector<Verb> verbs = all_verbs();
  if (std::ranges::find(verbs, verb, &Verb::name) != verbs.end()) {
    return;
  }
  std::vector<std::string> names;
  for (const Verb& known : verbs) {
    names.emplace_back(known.name);
  }
  const std::string meant = nearest_word(verb, names);
  refuse(fmt::format("unknown verb {}", verb), names_of(verbs), verb,
         meant.empty() ? "understudy --help says what each does"
                       : fmt::format("did you mean {}?", meant));
}

}  // namespace

std::vector<Verb> all_verbs() {
  std::vector<Verb> verbs = {kCapture};
  verbs.insert(verbs.end(), kPrograms.begin(), kPrograms.end());
  verbs.push_back(kFidelity);
  return verbs;
}

fs::path find_program(const std::string& verb, const fs::path& folder) {
  check_verb(verb);
  const fs::path own = folder.parent_path() / "libexec" / "understudy";
  std::error_code error;
  const bool is_installed = fs::is_directory(own, error);
  if (is_script(verb) && !is_installed) {
    refuse(fmt::format("{} needs the installed package", verb), "an installed package",
           "a build tree: " + folder.string(), fmt::format("run scripts/{} of the clone", verb));
  }
  const fs::path program = is_script(verb)                      ? folder / ("understudy-" + verb)
                           : is_installed && verb != kOnThePath ? own / verb
                                                                : folder / verb;
  if (!fs::is_regular_file(program, error)) {
    throw et_schema::run_failed("a program of the package is missing",
                                {.file = program.string(),
                                 .expected = "the program of " + verb,
                                 .got = "no such file",
                                 .hint = "install the package again"});
  }
  return program;
}

std::string help_text() {
  std::string text =
      "Portable, faithful benchmarks of machine-learning training, made from execution traces\n"
      "Usage: understudy VERB [ARGUMENTS]\n\nVerbs:\n";
  for (const Verb& verb : all_verbs()) {
    text += fmt::format("  {:<10}  {}\n", verb.name, verb.summary);
  }
  text +=
      "  completion  Prints shell completion: bash, zsh or fish\n"
      "  help        Prints this help, or that of a verb\n"
      "capture and fidelity need an installed package; in a clone run scripts/capture and\n"
      "scripts/fidelity\n"
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
      "  understudy help replay                       all flags of a verb, with examples\n"
      "  source <(understudy completion bash)         flags and files on the tab key\n"
      "\n"
      "EXIT STATUS\n"
      "  that of the verb; 2 for an unknown verb\n";
  return text;
}

std::string completion_help_text() {
  return "Usage: understudy completion bash|zsh|fish\n\n"
         "Prints a shell's completion of verbs, flags and files:\n"
         "  source <(understudy completion bash)\n";
}

std::string_view completion_script(const std::string& shell) {
  if (shell == "bash") {
    return kBashCompletion;
  }
  if (shell == "zsh") {
    return kZshCompletion;
  }
  if (shell == "fish") {
    return kFishCompletion;
  }
  refuse("no completion for that shell", "bash, zsh or fish", shell.empty() ? "no shell" : shell,
         "source <(understudy completion bash)");
}

}  // namespace understudy::cli
