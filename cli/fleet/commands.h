#pragma once

#include <string>
#include <vector>

#include "common/command_line.h"

namespace understudy::cli {

// The subcommands. Each takes its own name as argv[0] and gives an exit status.
int fleet_add(int argc, char** argv);
int fleet_drift(int argc, char** argv);
int fleet_gc(int argc, char** argv);
int fleet_history(int argc, char** argv);
int fleet_import(int argc, char** argv);
int fleet_init(int argc, char** argv);
int fleet_jobs(int argc, char** argv);
int fleet_nightly(int argc, char** argv);
int fleet_platforms(int argc, char** argv);
int fleet_report(int argc, char** argv);
int fleet_remove(int argc, char** argv);
int fleet_select(int argc, char** argv);
int fleet_verify(int argc, char** argv);
int fleet_worker(int argc, char** argv);

struct FleetCommand {
  const char* name;
  const char* summary;
  int (*run)(int argc, char** argv);
};
[[nodiscard]] const std::vector<FleetCommand>& fleet_commands();
[[nodiscard]] std::string fleet_help();

/// Adds the database, which every subcommand takes first.
void add_database_option(CLI::App& app, std::string& url);

/// Words of a text, separated by blanks.
[[nodiscard]] std::vector<std::string> words_of(const std::string& text);

}  // namespace understudy::cli
