#pragma once

#include <string>
#include <vector>

#include "cli/common/command_line.h"

namespace understudy::cli {

/// Arguments of `suite`.
struct SuiteArguments {
  std::string folder;
  std::string device = "cpu";
  std::string save;  ///< platform to save this machine's reports as; empty: none
  double seconds = 300;
  int rounds = 3;
  std::vector<std::string> replay_flags;
  Format format = Format::kText;
  bool quiet = false;

  [[nodiscard]] bool on_device() const { return device != "cpu"; }
};

/// Throws what parse_arguments() throws.
[[nodiscard]] SuiteArguments read_suite_arguments(int argc, char** argv);

}  // namespace understudy::cli
