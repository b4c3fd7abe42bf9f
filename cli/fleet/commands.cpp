#include "commands.h"

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

/// Returns an absolute path, for programs with another working folder.
std::string whole_path(const std::string& folder) {
  return fs::absolute(folder).lexically_normal().string();
}

}  // namespace

void add_database_option(CommandLine& line, std::string& url) {
  line.add("DATABASE", url, "The fleet: a file, or postgresql://…").required();
}

fleet::Job job_named(fleet::Connection& connection, const std::string& name) {
  const std::vector<fleet::Job> jobs = fleet::all_jobs(connection);
  const auto job = std::ranges::find(jobs, name, &fleet::Job::name);
  refuse_if(job == jobs.end(), "no job has that name", "", "", name,
            "understudy fleet jobs lists them");
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
  tools.generate = sibling("generate");
  tools.replay = replays ? sibling("replay") : "";
  if (replays && !fs::exists(tools.replay)) {
    throw et_schema::run_failed(
        "the program that replays is missing",
        {.file = tools.replay, .hint = "install the package again, or build `programs`"});
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
  refuse_if(asked.empty() && before.empty(), "no store is known for the benchmarks", "--store",
            "a folder, once; it is remembered", "",
            "understudy fleet nightly fleet.db --store store/");
  if (before.empty()) {
    remember_store(connection, asked);
  }
  return {asked.empty() ? before : whole_path(asked), fleet::setting(connection, "id")};
}

}  // namespace understudy::cli
