#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "common/output.h"
#include "common/progress.h"
#include "common/run_main.h"
#include "et_schema/support/error.h"
#include "et_schema/support/output_file.h"
#include "fleet/commands.h"
#include "fleet/database/schema.h"
#include "fleet/records/settings.h"
#include "fleet/site.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::string url;
  std::string folder;
  SiteOptions site;
  bool quiet = false;
};

ReportArguments read_report_arguments(int argc, char** argv) {
  ReportArguments arguments;
  const auto app = make_app(
      {.name = "fleet report",
       .description =
           "Writes the fleet as a site of static pages: the fleet, a page for each job with its "
           "history on each platform, the platforms, the last nights, the newest replays. Each "
           "page is one file and needs no network; existing pages are replaced.",
       .examples =
           "  fleet report fleet.db -o site/                      then open site/index.html\n"
           "  fleet report fleet.db -o site/ --baseline a100 --nights 7\n",
       .failure = "the database failed, or the site could not be written"});
  add_database_option(*app, arguments.url);
  app->add_option("-o,--output", arguments.folder, "The site's folder; created if it is missing")
      ->required()
      ->type_name("FOLDER");
  app->add_option("--baseline", arguments.site.baseline,
                  "The platform whose ratio is 1 (default: the one with the most benchmarks)")
      ->type_name("NAME");
  app->add_option("--nights", arguments.site.nights, "Number of last nights that get a page")
      ->check(CLI::Range(1, 100'000).description(""))
      ->capture_default_str();
  app->add_option("--last", arguments.site.results, "Number of newest results of each series")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str();
  add_quiet_option(*app, arguments.quiet, "where the site is, is not said");
  parse_arguments(*app, argc, argv);
  return arguments;
}

/// A database's own name, without the password of an address.
std::string name_of(const std::string& url) {
  return fs::path(url.substr(0, url.find('?'))).filename().string();
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder)) {
    throw et_schema::usage_error("the site's folder cannot be made",
                                 {.file = folder,
                                  .field = "--output",
                                  .expected = "a folder, or a name for one",
                                  .got = error ? error.message() : "something that is no folder",
                                  .hint = "choose another place"});
  }
}

}  // namespace

int fleet_report(int argc, char** argv) {
  ReportArguments arguments = read_report_arguments(argc, argv);
  Progress progress(arguments.quiet);
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  arguments.site.fleet_name = name_of(arguments.url);
  arguments.site.store = fleet::setting(*connection, "store");
  make_folder(arguments.folder);
  std::uint64_t bytes = 0;
  const std::size_t count = make_site(
      *connection, arguments.site,
      [&](const std::string& name, const pages::Page& page) {
        const std::string html = pages::to_html(page);
        et_schema::write_file_atomically((fs::path(arguments.folder) / name).string(), html);
        bytes += html.size();
      },
      [&](std::size_t done, std::size_t total) {
        progress.show({"writing pages", done, total, {}});
      });
  progress.clear();
  if (!arguments.quiet) {
    print_output(fmt::format("{} pages, {:.1f} MB: {}\n", count, static_cast<double>(bytes) / 1e6,
                             (fs::path(arguments.folder) / "index.html").string()));
  }
  return kStatusOk;
}

}  // namespace understudy::cli
