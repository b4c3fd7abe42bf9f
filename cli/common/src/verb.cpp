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

std::string help_of(const VerbGroup& group) {
  std::string text = group.help_before;
  for (const Verb* verb : verbs_of(group.prefix)) {
    text +=
        fmt::format("  {:<10}  {}\n", verb->name().substr(group.prefix.size()), verb->summary());
  }
  return text + group.help_after;
}

[[noreturn]] void refuse(const VerbGroup& group, const std::string& name) {
  std::vector<std::string> names;
  for (const Verb* verb : verbs_of(group.prefix)) {
    names.emplace_back(verb->name().substr(group.prefix.size()));
  }
  const std::string meant = et_schema::nearest_word(name, names);
  throw et_schema::usage_error(
      fmt::format("unknown {} {}", group.noun, name),
      {.expected = fmt::format("{}", fmt::join(names, ", ")),
       .got = name,
       .hint = meant.empty() ? fmt::format("{} --help says what each does", group.program)
                             : fmt::format("did you mean {}?", meant)});
}

}  // namespace

Verb::Verb(std::string_view name, std::string_view summary, Run run) noexcept
    : name_(name), summary_(summary), run_(run), next_(std::exchange(last, this)) {}

int Verb::run(int argc, char** argv) const {
  return run_main(std::string(name_.substr(0, name_.find(' '))), argc, argv,
                  [&] { return run_(argc, argv); });
}

std::vector<const Verb*> verbs_of(std::string_view prefix) {
  std::vector<const Verb*> verbs;
  for (const Verb* verb = last; verb != nullptr; verb = verb->next_) {
    if (verb->name_.starts_with(prefix) && verb->name_.rfind(' ') + 1 == prefix.size()) {
      verbs.push_back(verb);
    }
  }
  std::ranges::sort(verbs, {}, &Verb::name_);
  return verbs;
}

const Verb* find_verb(std::string_view name) {
  const std::vector<const Verb*> verbs = verbs_of(name.substr(0, name.rfind(' ') + 1));
  const auto found = std::ranges::find(verbs, name, &Verb::name);
  return found == verbs.end() ? nullptr : *found;
}

int run_verb(const VerbGroup& group, std::vector<std::string> words) {
  if (words.empty()) {
    fmt::print(stderr, "{}", help_of(group));
    return static_cast<int>(et_schema::ErrorKind::kUsage);
  }
  if (words.size() > 1 && asks_help(words[0])) {
    words = {words[1], "--help"};
  }
  if (words[0] == "--version" || asks_help(words[0])) {
    print_output(words[0] == "--version"
                     ? fmt::format("{} {}\n", group.program, et_schema::kToolVersion)
                     : help_of(group));
    return kStatusOk;
  }
  const Verb* const verb = find_verb(group.prefix + words[0]);
  if (verb == nullptr) {
    refuse(group, words[0]);
  }
  std::vector<char*> arguments;
  std::ranges::transform(words, std::back_inserter(arguments),
                         [](std::string& word) { return word.data(); });
  return verb->run(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace understudy::cli
