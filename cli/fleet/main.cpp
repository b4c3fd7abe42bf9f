#include <fmt/format.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "commands.h"
#include "et_schema/base/error.h"
#include "et_schema/base/version.h"
#include "fleet/database/connection.h"

namespace understudy::cli {
namespace {

/// Columns of the database hold JSON of ours; a damaged or edited one may hold anything.
int run_command(const FleetCommand& command, int argc, char** argv) {
  try {
    return command.run(argc, argv);
  } catch (const nlohmann::json::exception& error) {
    throw fleet::damaged_database(
        {.expected = "JSON as this program writes it", .got = error.what()});
  }
}

int run(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name.empty()) {
    fmt::print(stderr, "{}", fleet_help());
    return static_cast<int>(et_schema::ErrorKind::kUsage);
  }
  if (name == "-h" || name == "--help" || name == "help") {
    print_output(fleet_help());
    return kStatusOk;
  }
  if (name == "--version") {
    print_output(fmt::format("fleet {}\n", et_schema::kToolVersion));
    return kStatusOk;
  }
  std::vector<std::string> names;
  for (const FleetCommand& command : fleet_commands()) {
    if (name == command.name) {
      return run_command(command, argc - 1, argv + 1);
    }
    names.emplace_back(command.name);
  }
  const std::string meant = nearest_word(name, names);
  throw et_schema::usage_error(fmt::format("unknown command {}", name),
                               {.hint = meant.empty() ? "fleet --help lists the commands"
                                                      : fmt::format("did you mean {}?", meant)});
}

}  // namespace
}  // namespace understudy::cli

int main(int argc, char** argv) {
  // If whoever starts this ignored it, the kernel would keep no program's status.
  std::signal(SIGCHLD, SIG_DFL);
  return understudy::cli::run_main("fleet", argc, argv,
                                   [&] { return understudy::cli::run(argc, argv); });
}
