
#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "commands.h"
#include "fleet/database/schema.h"
#include "site_data.h"

namespace understudy::cli {
namespace {

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
      {.name = "understudy fleet history",
       .description = "Shows the last nights; or one job's results, night by night and platform by "
                      "platform, with what happened to it.",
       .examples = R"(  understudy fleet history fleet.db                        the last nights
  understudy fleet history fleet.db ads-ranker             one job
  understudy fleet history fleet.db ads-ranker --platform a100 --last 90 --format csv)",
       .failure = "the database failed"});
  add_database_option(line, arguments.url);
  line.add("JOB", arguments.job, "A job's name");
  line.add("--platform NAME", arguments.platform, "Only this platform");
  line.add_format(arguments.format);
  line.add_number("--last N", arguments.last, 1, 1'000'000, "Number of nights or results");
  line.parse(argc, argv);
  return arguments;
}

int fleet_history(int argc, char** argv) {
  const HistoryArguments arguments = read_history_arguments(argc, argv);
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  const SiteData data = read_site_data(
      *connection,
      {.nights = arguments.last, .results = arguments.last, .platform = arguments.platform});
  const pages::Page page =
      arguments.job.empty()
          ? pages::nights_page(nights_document(data))
          : pages::benchmark_page(
                benchmark_document(*connection, data, job_named(*connection, arguments.job)), {});
  print_output(pages::written(page, arguments.format));
  return kStatusOk;
}

const Verb kHistory("fleet history", "Shows nights, or a job's results",
                    on_database<fleet_history>);

}  // namespace
}  // namespace understudy::cli
