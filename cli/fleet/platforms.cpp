#include "fleet/analysis/platforms.h"

#include "candidates.h"
#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "cli/pages/fleet/fleet_pages.h"
#include "commands.h"
#include "fleet/database/schema.h"

namespace understudy::cli {
namespace {

int fleet_platforms(int argc, char** argv) {
  std::string url;
  std::string baseline;
  Format format = Format::kText;
  CommandLine line(
      {.name = "understudy fleet platforms",
       .description = "Compares platforms with a baseline, by the newest results of each job's "
                      "benchmark: ratios of times, weighted and by benchmark, with 95 % intervals; "
                      "the ranking and how certain it is; the classes of operators that drive a "
                      "ratio. Only results of the same benchmark, by its hash, are compared.",
       .examples = R"(  understudy fleet platforms fleet.db --baseline a100)",
       .failure = "the database failed"});
  add_database_option(line, url);
  line.add("--baseline NAME", baseline, "The platform that is 1").required();
  line.add_format(format);
  line.parse(argc, argv);
  const auto connection = fleet::open_fleet(url, fleet::Opening::kExisting);
  print_output(pages::written(
      pages::platforms_page(fleet::compare_platforms(platform_rows(*connection), baseline), {}),
      format));
  return kStatusOk;
}

const Verb kPlatforms("fleet platforms", "Compares platforms", on_database<fleet_platforms>);

}  // namespace
}  // namespace understudy::cli
