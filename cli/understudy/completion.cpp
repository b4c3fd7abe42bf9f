#include "completion.h"

#include <map>
#include <string>

#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "et_schema/base/error.h"

namespace understudy::cli {
namespace {

constexpr std::string_view kHelp =
    "Usage: understudy completion bash|zsh|fish\n\n"
    "Prints a shell's completion of verbs, flags and files:\n"
    "  source <(understudy completion bash)\n";

std::string_view text_for(const std::string& word) {
  static const std::map<std::string, std::string_view> kTexts = {
      {"-h", kHelp},           {"--help", kHelp},
      {"--help-all", kHelp},   {"bash", kBashCompletion},
      {"zsh", kZshCompletion}, {"fish", kFishCompletion}};
  if (const auto text = kTexts.find(word); text != kTexts.end()) {
    return text->second;
  }
  throw et_schema::usage_error("no completion for that shell",
                               {.expected = "bash, zsh or fish",
                                .got = word.empty() ? "no shell" : word,
                                .hint = "source <(understudy completion bash)"});
}

const Verb kCompletion("completion", "Prints shell completion: bash, zsh or fish",
                       [](int argc, char** argv) {
                         print_output(text_for(argc > 1 ? argv[1] : ""));
                         return kStatusOk;
                       });

}  // namespace
}  // namespace understudy::cli
