#include <nlohmann/json.hpp>

#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "cli/pages/document/from_json.h"
#include "commands.h"
#include "fleet/database/schema.h"
#include "fleet/records/nights.h"
#include "site_data.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::counts, pages::ids, pages::table_at, pages::texts;

struct HistoryArguments {
  std::string url;
  std::string job;
  std::string platform;
  std::size_t last = 30;
  Format format = Format::kText;
};

HistoryArguments read_history_arguments(int argc, char** argv) {
  HistoryArguments arguments;
  CommandLine line(
      {.name = "fleet history",
       .description = "Shows the last nights; or one job's results, night by night and platform by "
                      "platform, with what happened to it.",
       .examples = "  fleet history fleet.db                        the last nights\n"
                   "  fleet history fleet.db ads-ranker             one job\n"
                   "  fleet history fleet.db ads-ranker --platform a100 --last 90 --format csv\n",
       .failure = "the database failed"});
  add_database_option(line, arguments.url);
  line.add("JOB", arguments.job, "A job's name");
  line.add("--platform NAME", arguments.platform, "Only this platform");
  line.add_format(arguments.format);
  line.add_number("--last N", arguments.last, 1, 1'000'000, "Number of nights or results");
  line.parse(argc, argv);
  return arguments;
}

pages::Page nights_page(const std::vector<fleet::Night>& nights) {
  Json list = Json::array();
  for (const fleet::Night& night : nights) {
    const Json summary = night.summary.empty() ? Json() : Json::parse(night.summary);
    list.push_back({{"night", night.id},
                    {"opened_utc", night.opened_utc},
                    {"closed_utc", night.closed_utc.empty() ? Json() : Json(night.closed_utc)},
                    {"jobs", night.jobs},
                    {"text", summary.is_null() ? "open" : counts_of_night(summary)},
                    {"summary", summary}});
  }
  const Json document = {
      {"format", "understudy-fleet-nights"}, {"version", 1}, {"nights", std::move(list)}};
  pages::Page page;
  page.title = nights.empty() ? "No night yet" : "The fleet's nights";
  page.sections = {
      {"nights",
       "Nights",
       {table_at(document, "/nights", "Nights, the newest first",
                 {ids("night"), counts("jobs"), counts("made", "summary/made"),
                  counts("replayed", "summary/replayed"), texts("opened", "opened_utc"),
                  texts("closed", "closed_utc"), texts("what", "text")})}}};
  return made_by("fleet", std::move(page), document, "nights.json", 1);
}

int fleet_history(int argc, char** argv) {
  const HistoryArguments arguments = read_history_arguments(argc, argv);
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  pages::Page page;
  if (arguments.job.empty()) {
    page = nights_page(fleet::last_nights(*connection, arguments.last));
  } else {
    const SiteData data =
        read_site_data(*connection, {.results = arguments.last, .platform = arguments.platform});
    page = pages::benchmark_page(
        benchmark_document(*connection, data, job_named(*connection, arguments.job)), {});
  }
  print_output(pages::written(page, arguments.format));
  return kStatusOk;
}

const Verb kHistory("fleet history", "Shows nights, or a job's results",
                    on_database<fleet_history>);

}  // namespace
}  // namespace understudy::cli
