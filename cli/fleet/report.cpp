#include <fmt/format.h>

#include <filesystem>

#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "commands.h"
#include "et_schema/base/error.h"
#include "et_schema/base/output_file.h"
#include "fleet/database/schema.h"
#include "site.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

/// Returns a database's own name, without the password of its address.
std::string name_of(const std::string& url) {
  return fs::path(url.substr(0, url.find('?'))).filename().string();
}

/// Pages overwrite files, so the folder must not hold anything else.
void refuse_folder(const std::string& folder) {
  std::error_code error;
  const bool is_folder = fs::is_directory(folder, error);
  if (fs::exists(folder, error) &&
      (!is_folder ||
       (!fs::is_empty(folder, error) && !fs::exists(fs::path(folder) / "index.html", error)))) {
    throw et_schema::usage_error(
        "the site cannot be written there",
        {.file = folder,
         .field = "--output",
         .expected = "a site's folder (with index.html), an empty one, or a name for one",
         .got = is_folder ? "a folder with other files" : "a file",
         .hint = "choose another place"});
  }
}

int fleet_report(int argc, char** argv) {
  std::string url;
  std::string folder;
  SiteOptions site;
  bool quiet = false;
  CommandLine line(
      {.name = "understudy fleet report",
       .description =
           "Writes the fleet as a site of static pages: the fleet, a page for each job with its "
           "history on each platform, the platforms, the last nights, the newest replays. Each "
           "page is one file and needs no network; existing pages are replaced.",
       .examples =
           R"(  understudy fleet report fleet.db -o site/                      then open site/index.html
  understudy fleet report fleet.db -o site/ --baseline a100 --nights 7)",
       .failure = "the database failed"});
  add_database_option(line, url);
  line.begin(FlagGroup::kOutput);
  line.add("-o,--output FOLDER", folder, "The site's folder; created if it is missing").required();
  line.add("--baseline NAME", site.baseline,
           "The platform whose ratio is 1 (default: the one with the most benchmarks)");
  line.add_number("--nights N", site.nights, 1, 100'000, "Number of last nights that get a page");
  line.add_number("--last N", site.results, 1, 1'000'000,
                  "Number of newest results of each series");
  line.add_quiet(quiet, "where the site is, is not said");
  line.parse(argc, argv);
  Progress progress(quiet);
  const auto connection = fleet::open_fleet(url, fleet::Opening::kExisting);
  site.fleet_name = name_of(url);
  site.store = fleet::setting(*connection, "store");
  refuse_folder(folder);
  std::uint64_t bytes = 0;
  const std::size_t count = make_site(
      *connection, site,
      [&](const std::string& name, const pages::Page& page) {
        const std::string html = pages::to_html(page);
        et_schema::write_below(folder, name, html);
        bytes += html.size();
      },
      [&](std::size_t done, std::size_t total) {
        progress.show({"writing pages", done, total, {}});
      });
  progress.clear();
  if (!quiet) {
    print_output(fmt::format("{} pages, {:.1f} MB: {}\n", count, static_cast<double>(bytes) / 1e6,
                             (fs::path(folder) / "index.html").string()));
  }
  return kStatusOk;
}

const Verb kReport("fleet report", "Writes the fleet as a site of static pages",
                   on_database<fleet_report>);

}  // namespace
}  // namespace understudy::cli
