#include <string_view>

#include "cli/common/verb.h"

/// `understudy` also starts this program for other verbs that need LibTorch: --verb=NAME.
int main(int argc, char** argv) {
  using understudy::cli::find_verb;
  constexpr std::string_view kFlag = "--verb=";
  const std::string_view first = argc > 1 ? argv[1] : "";
  const auto* const verb =
      first.starts_with(kFlag) ? find_verb(first.substr(kFlag.size())) : nullptr;
  return verb != nullptr ? verb->run(argc - 1, argv + 1) : find_verb("replay")->run(argc, argv);
}
