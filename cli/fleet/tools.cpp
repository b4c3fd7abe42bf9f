#include <filesystem>

#include "common/own_program.h"
#include "et_schema/support/error.h"
#include "fleet/commands.h"
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

}  // namespace

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

std::string whole_path(const std::string& folder) {
  return fs::absolute(folder).lexically_normal().string();
}

void remember_store(fleet::Connection& connection, const std::string& folder) {
  fleet::in_transaction(connection, [&] { fleet::set_setting(connection, "store", folder); });
}

std::string store_folder(fleet::Connection& connection, const std::string& asked) {
  const std::string before = fleet::setting(connection, "store");
  if (asked.empty()) {
    if (before.empty()) {
      throw et_schema::usage_error("no store is known for the benchmarks",
                                   {.field = "--store",
                                    .expected = "a folder, once; it is remembered",
                                    .hint = "fleet nightly fleet.db --store store/"});
    }
    return before;
  }
  const std::string folder = whole_path(asked);
  if (before.empty()) {
    remember_store(connection, folder);
  }
  return folder;
}

}  // namespace understudy::cli
