#include "fleet/commands.h"

#include <fmt/format.h>

#include <sstream>

namespace understudy::cli {

const std::vector<FleetCommand>& fleet_commands() {
  static const std::vector<FleetCommand> kCommands = {
      {"init", "Makes a fleet's database", fleet_init},
      {"add", "Adds jobs: traces, a folder of jobs, or a manifest", fleet_add},
      {"remove", "Removes a job; its results stay", fleet_remove},
      {"jobs", "Lists the jobs and how they are", fleet_jobs},
      {"nightly", "Makes anew what changed, replays, compares, sums up", fleet_nightly},
      {"worker", "Helps the night that is open, from this machine", fleet_worker},
      {"import", "Takes in predictions of platforms that were not run", fleet_import},
      {"history", "Nights, and results over them", fleet_history},
      {"drift", "How far jobs have moved, and what moved", fleet_drift},
      {"platforms", "Platforms against each other", fleet_platforms},
      {"report", "Writes the fleet as a site of static pages", fleet_report},
      {"select", "The few jobs that stand for all", fleet_select},
      {"gc", "Frees what nothing refers to; copies the database", fleet_gc},
      {"verify", "Checks the hash of everything stored", fleet_verify},
  };
  return kCommands;
}

std::string fleet_help() {
  std::string text =
      "Many training jobs at once: benchmarks made anew from what changed, replayed, compared "
      "with\n"
      "the nights before, and the few that stand for all.\n"
      "Usage: fleet COMMAND DATABASE [ARGUMENTS]\n\nCommands:\n";
  for (const FleetCommand& command : fleet_commands()) {
    text += fmt::format("  {:<10}  {}\n", command.name, command.summary);
  }
  text +=
      "\nOptions:\n"
      "  -h,--help   Print this help message and exit; of a command: fleet COMMAND --help\n"
      "  --version   Display program version information and exit\n"
      "\nEXAMPLES\n"
      "  fleet init fleet.db --store store/          a fleet in a file, benchmarks in a folder\n"
      "  fleet add fleet.db traces/ads --weight 0.12 --tag team=ads\n"
      "  fleet nightly fleet.db --jobs 2             safe to kill, to rerun, to start twice\n"
      "  fleet history fleet.db ads                  one job's results, night by night\n"
      "  fleet platforms fleet.db --baseline a100    ratios, ranking, what drives them\n"
      "  fleet report fleet.db -o site/              pages for a browser: site/index.html\n"
      "  fleet select fleet.db --budget 20 --max-error 0.03 -o subset.yaml\n"
      "\nEXIT STATUS\n"
      "  that of the command; 2 for a command that is not known\n";
  return text;
}

void add_database_option(CLI::App& app, std::string& url) {
  app.add_option("DATABASE", url, "The fleet: a file, or postgresql://…")->required();
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

}  // namespace understudy::cli
