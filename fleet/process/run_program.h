#pragma once

#include <string>
#include <vector>

namespace understudy::fleet {

/// How a program ended.
struct ProgramEnd {
  int status = 0;  ///< exit status; 128 and the signal's number where one ended it
  bool timed_out = false;
  std::string output;  ///< of standard output, the first MiB
  std::string errors;  ///< of standard error, the last 16 KiB
};

struct ProgramCall {
  std::vector<std::string> words;  ///< program and arguments; the first is looked up in PATH
  std::vector<std::string> variables = {};  ///< "NAME=value", beside this process' environment
  double timeout_s = 0;                     ///< 0: none
};

/// Runs a program to its end, with nothing on its standard input. It is ended with this process,
/// and with its whole process group when time is over. Throws Error (failed) if it cannot be
/// started.
[[nodiscard]] ProgramEnd run_program(const ProgramCall& call);

}  // namespace understudy::fleet
