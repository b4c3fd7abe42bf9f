#include <fmt/format.h>

#include "common/output.h"
#include "common/run_main.h"
#include "fleet/commands.h"
#include "fleet/database/schema.h"
#include "fleet/objects/object_store.h"

namespace understudy::cli {

int fleet_init(int argc, char** argv) {
  std::string url;
  std::string store;
  bool quiet = false;
  CommandLine line({.name = "fleet init",
                    .description = "Creates a fleet's database, or upgrades an older one to this "
                                   "version. Its content stays.",
                    .examples =
                        "  fleet init fleet.db --store store/\n"
                        "  fleet init postgresql://fleet@db.example/fleet --store /shared/store\n",
                    .failure = "the database could not be created"});
  add_database_option(line, url);
  line.add("--store DIR", store,
           "Folder for benchmarks and reports; remembered, and replaces an earlier one");
  line.add_quiet(quiet, "no text on standard output");
  line.parse(argc, argv);
  const auto connection = fleet::open_fleet(url, fleet::Opening::kCreate);
  if (!store.empty()) {
    const std::string folder = whole_path(store);
    const fleet::ObjectStore made(folder);
    remember_store(*connection, folder);
  }
  if (!quiet) {
    const std::string shown = fleet::without_password(url);
    print_output(fmt::format(
        "{}: a fleet, version {} of its tables\nAdd jobs: fleet add {} TRACES\n{}", shown,
        fleet::kSchemaVersion, shown,
        store.empty() ? "No store yet: give --store DIR to the first `fleet nightly`\n" : ""));
  }
  return kStatusOk;
}

}  // namespace understudy::cli
