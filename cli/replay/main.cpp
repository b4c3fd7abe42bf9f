#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "cli/common/verb.h"

namespace {

int folder = -1;

/// Runs before the libraries start. One of LibTorch's for CUDA (libcusparseLt) looks for the
/// driver's library in the current folder, which may hold a stranger's files.
void leave_folder() {
  folder = ::open(".", O_PATH | O_CLOEXEC);
  if (::chdir("/") != 0) {
    ::_exit(1);
  }
}
[[gnu::section(".preinit_array"), gnu::used]] void (*before_libraries)() = &leave_folder;

}  // namespace

/// `understudy` also starts this program for other verbs that need LibTorch: --verb=NAME.
int main(int argc, char** argv) {
  using understudy::cli::find_verb;
  if (folder >= 0) {
    static_cast<void>(!::fchdir(folder));
    ::close(folder);
  }
  constexpr std::string_view kFlag = "--verb=";
  const std::string_view first = argc > 1 ? argv[1] : "";
  const auto* const verb =
      first.starts_with(kFlag) ? find_verb(first.substr(kFlag.size())) : nullptr;
  return verb != nullptr ? verb->run(argc - 1, argv + 1) : find_verb("replay")->run(argc, argv);
}
