#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace understudy::fleet {

/// How a program ended.
struct ProgramEnd {
  int status = 0;  ///< exit status; 128 + the signal's number if a signal ended it
  bool timed_out = false;
  std::string output;  ///< first 16 MiB of standard output
  std::string errors;  ///< last 16 KiB of standard error
};

struct ProgramCall {
  std::vector<std::string> words;  ///< program and arguments; the first is looked up in PATH
  std::vector<std::string> variables = {};  ///< "NAME=value", besides this process' environment
  double timeout_s = 0;                     ///< 0: unlimited
  /// The variables of this process' environment that it gets, separated by blanks; "NAME*": all
  /// with this beginning.
  std::string_view passes = "*";
};

/// Runs a program to its end, with empty standard input. The program is killed if this process
/// ends, and its whole process group is killed at the timeout. Throws Error (failed) if the program
/// cannot be started.
[[nodiscard]] ProgramEnd run_program(const ProgramCall& call);

}  // namespace understudy::fleet
