#include "cli/common/verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "et_schema/base/error.h"
#include "et_schema/base/nearest_word.h"
#include "et_schema/base/version.h"

namespace understudy::cli {
namespace {

constinit const Verb* last = nullptr;

bool asks_help(std::string_view word) {
  return word == "-h" || word == "--help" || word == "--help-all" || word == "help";
}

std::string help_of(const VerbsHelp& help) {
  std::string text = help.before;
  for (const Verb* verb : Verb::listed()) {
    text += fmt::format("  {:<10}  {}\n", verb->name(), verb->summary());
  }
  return text + help.after;
}

[[noreturn]] void refuse(const std::string& name) {
  std::vector<std::string> names;
  for (const Verb* verb : Verb::listed()) {
    names.emplace_back(verb->name());
  }
  const std::string meant = et_schema::nearest_word(name, names);
  throw et_schema::usage_error(fmt::format("unknown verb {}", name),
                               {.expected = fmt::format("{}", fmt::join(names, ", ")),
                                .got = name,
                                .hint = meant.empty() ? "understudy --help says what each does"
                                                      : fmt::format("did you mean {}?", meant)});
}

}  // namespace

Verb::Verb(std::string_view name, std::string_view summary, Run body) noexcept
    : name_(name), summary_(summary), run_(body), next_(std::exchange(last, this)) {}

int Verb::run(int argc, char** argv) const {
  return run_main(std::string(name_), argc, argv, [&] { return run_(argc, argv); });
}

std::vector<const Verb*> Verb::listed() {
  std::vector<const Verb*> verbs;
  for (const Verb* verb = last; verb != nullptr; verb = verb->next_) {
    if (!verb->summary_.empty()) {
      verbs.push_back(verb);
    }
  }
  std::ranges::sort(verbs, {}, &Verb::name_);
  return verbs;
}

const Verb* find_verb(std::string_view name) {
  const Verb* verb = last;
  while (verb != nullptr && verb->name_ != name) {
    verb = verb->next_;
  }
  return verb;
}

int run_verb(const VerbsHelp& help, std::vector<std::string> words) {
  if (words.empty()) {
    fmt::print(stderr, "{}", help_of(help));
    return static_cast<int>(et_schema::ErrorKind::kUsage);
  }
  if (words.size() > 1 && asks_help(words[0])) {
    words = {words[1], "--help"};
  }
  if (words[0] == "--version" || asks_help(words[0])) {
    print_output(words[0] == "--version" ? fmt::format("understudy {}\n", et_schema::kToolVersion)
                                         : help_of(help));
    return kStatusOk;
  }
  const Verb* const verb = find_verb(words[0]);
  if (verb == nullptr) {
    refuse(words[0]);
  }
  std::vector<char*> arguments;
  std::ranges::transform(words, std::back_inserter(arguments),
                         [](std::string& word) { return word.data(); });
  return verb->run(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace understudy::cli
