#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "et_schema/base/error.h"
#include "et_schema/base/version.h"
#include "verbs.h"

namespace understudy::cli {
namespace {

/// Becomes the verb's program.
[[noreturn]] void start(const std::string& verb, std::vector<std::string> words) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string program = find_program(verb, self.parent_path());
  std::vector<char*> arguments;
  words.insert(words.begin(), program);
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  throw et_schema::run_failed("a program of the package cannot be started",
                              {.file = program,
                               .expected = "a program of this system",
                               .got = std::strerror(errno),
                               .hint = "install the package again"});
}

int run(std::vector<std::string> words) {
  if (words.empty()) {
    fmt::print(stderr, "{}", help_text());
    return static_cast<int>(et_schema::ErrorKind::kUsage);
  }
  std::string verb = words.front();
  words.erase(words.begin());
  if (verb == "--version") {
    print_output(fmt::format("understudy {}\n", et_schema::kToolVersion));
    return kStatusOk;
  }
  const bool asks_help = (verb == "completion" && words == std::vector<std::string>{"--help"}) ||
                         (verb == "completion" && words == std::vector<std::string>{"-h"}) ||
                         (verb == "help" && words == std::vector<std::string>{"completion"});
  if (asks_help) {
    print_output(completion_help_text());
    return kStatusOk;
  }
  if (verb == "completion") {
    print_output(std::string(completion_script(words.empty() ? std::string() : words.front())));
    return kStatusOk;
  }
  if (verb == "-h" || verb == "--help" || verb == "help") {
    if (words.empty()) {
      print_output(help_text());
      return kStatusOk;
    }
    verb = words.front();
    words = {"--help"};
  }
  start(verb, std::move(words));
}

}  // namespace
}  // namespace understudy::cli

int main(int argc, char** argv) {
  return understudy::cli::run_main("understudy", argc, argv, [&] {
    return understudy::cli::run(std::vector<std::string>(argv + 1, argv + argc));
  });
}
