#include "common/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace understudy::cli {
namespace {

constexpr std::string_view kWipeLine = "\r\x1b[K";

}  // namespace

Progress::Progress(bool quiet) : is_terminal_(!quiet && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  // The last words of a program; if standard error is gone there is nobody to tell.
  if (is_shown_) {
    std::fwrite(kWipeLine.data(), 1, kWipeLine.size(), stderr);
  }
}

void Progress::show(std::string_view text) {
  if (is_terminal_) {
    fmt::print(stderr, "{}{}", kWipeLine, text);
    std::fflush(stderr);
    is_shown_ = true;
  }
}

void Progress::clear() {
  if (is_shown_) {
    fmt::print(stderr, "{}", kWipeLine);
    std::fflush(stderr);
    is_shown_ = false;
  }
}

}  // namespace understudy::cli
