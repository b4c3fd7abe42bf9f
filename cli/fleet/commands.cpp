#include "commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/common/own_program.h"
#include "et_schema/base/error.h"
#include "fleet/database/connection.h"
#include "fleet/database/schema.h"
#include "fleet/process/run_program.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

std::string find_program(const std::string& name) {
  const std::string program = find_sibling(name);
  if (program.empty()) {
    throw et_schema::run_failed("a program of the package is missing",
                                {.file = (fs::path(own_program()).parent_path() / name).string(),
                                 .expected = "the program of " + name,
                                 .got = "no such file",
                                 .hint = "install the package again, or build `programs`"});
  }
  return program;
}

/// For programs that start elsewhere.
std::string whole_path(const std::string& folder) {
  return fs::absolute(folder).lexically_normal().string();
}

}  // namespace

const std::vector<FleetCommand>& fleet_commands() {
  static const std::vector<FleetCommand> kCommands = {
      {"init", "Makes a fleet's database", fleet_init},
      {"add", "Adds jobs: traces, a folder of jobs, or a manifest", fleet_add},
      {"remove", "Removes a job; its results stay", fleet_remove},
      {"jobs", "Lists the jobs and their state", fleet_jobs},
      {"nightly", "Rebuilds what changed, replays, compares, sums up", fleet_nightly},
      {"worker", "Works on the open night, from this machine", fleet_worker},
      {"import", "Imports predictions for platforms that were not run", fleet_import},
      {"history", "Shows nights, or a job's results", fleet_history},
      {"drift", "Shows jobs whose work has drifted, and in what", fleet_drift},
      {"platforms", "Compares platforms", fleet_platforms},
      {"report", "Writes the fleet as a site of static pages", fleet_report},
      {"select", "Selects a few jobs that represent all", fleet_select},
      {"gc", "Deletes what nothing refers to; copies the database", fleet_gc},
      {"verify", "Checks the hash of everything stored", fleet_verify},
  };
  return kCommands;
}

std::string fleet_help() {
  std::string text =
      "Benchmarks of many training jobs: rebuilt when traces change, replayed and compared every\n"
      "night, and a few of them that represent all.\n"
      "Usage: fleet COMMAND DATABASE [ARGUMENTS]\n"
      "\n"
      "Commands:\n";
  for (const FleetCommand& command : fleet_commands()) {
    text += fmt::format("  {:<10}  {}\n", command.name, command.summary);
  }
  text +=
      "\n"
      "Options:\n"
      "  -h,--help   Print this help message and exit; of a command: fleet COMMAND --help\n"
      "  --version   Display program version information and exit\n"
      "\n"
      "EXAMPLES\n"
      "  fleet init fleet.db --store store/          a fleet in a file, benchmarks in a folder\n"
      "  fleet add fleet.db traces/ads --weight 0.12 --tag team=ads\n"
      "  fleet nightly fleet.db --jobs 2             safe to kill, to rerun, to start twice\n"
      "  fleet history fleet.db ads                  one job's results, night by night\n"
      "  fleet platforms fleet.db --baseline a100    ratios, ranking, what drives them\n"
      "  fleet report fleet.db -o site/              pages for a browser: site/index.html\n"
      "  fleet select fleet.db --budget 20 --max-error 0.03 -o subset.yaml\n"
      "\n"
      "EXIT STATUS\n"
      "  that of the command; 2 for an unknown command\n";
  return text;
}

void add_database_option(CommandLine& line, std::string& url) {
  line.add("DATABASE", url, "The fleet: a file, or postgresql://…").required();
}

fleet::Job job_named(fleet::Connection& connection, const std::string& name) {
  const std::vector<fleet::Job> jobs = fleet::all_jobs(connection);
  const auto job = std::ranges::find(jobs, name, &fleet::Job::name);
  if (job == jobs.end()) {
    throw et_schema::usage_error("no job has that name",
                                 {.got = name, .hint = "fleet jobs lists them"});
  }
  return *job;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

fleet::Tools find_tools(bool replays) {
  fleet::Tools tools;
  tools.generate = find_program("generate");
  if (replays) {
    tools.replay = find_program("replay");
  }
  tools.generator = fleet::run_program({.words = {tools.generate, "--version"}}).output;
  while (tools.generator.ends_with('\n')) {
    tools.generator.pop_back();
  }
  return tools;
}

void remember_store(fleet::Connection& connection, const std::string& folder) {
  const std::string whole = whole_path(folder);
  fleet::ObjectStore::make(whole, fleet::setting(connection, "id"));
  fleet::in_transaction(connection, [&] { fleet::set_setting(connection, "store", whole); });
}

fleet::ObjectStore open_store(fleet::Connection& connection, const std::string& asked) {
  const std::string before = fleet::setting(connection, "store");
  if (asked.empty() && before.empty()) {
    throw et_schema::usage_error("no store is known for the benchmarks",
                                 {.field = "--store",
                                  .expected = "a folder, once; it is remembered",
                                  .hint = "fleet nightly fleet.db --store store/"});
  }
  if (before.empty()) {
    remember_store(connection, asked);
  }
  return {asked.empty() ? before : whole_path(asked), fleet::setting(connection, "id")};
}

}  // namespace understudy::cli
