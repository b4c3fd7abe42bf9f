#include "site.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/pages/report/report_page.h"
#include "commands.h"
#include "et_schema/base/error.h"
#include "fleet/database/schema.h"
#include "fleet/nightly/worker.h"
#include "site_data.h"

namespace understudy::cli {
namespace {

/// Returns the page of a replay. If the store has lost or damaged the report, the page says so: the
/// site has no dead links.
pages::Page replay_page(const std::string& folder, const std::string& fleet,
                        const fleet::Result& result) {
  pages::Page page;
  try {
    const fleet::ObjectStore store(folder, fleet);
    page = pages::report_page(fleet::read_report(store, result.report));
  } catch (const et_schema::Error& error) {
    page.title = "Replay of " + result.benchmark_hash;
    page.verdict = {pages::Tone::kBad, "Its report cannot be shown: " + error.summary() + "."};
  }
  page.above = {{"Fleet", "index.html"}};
  return page;
}

/// Returns what the newest night found that has ended.
et_schema::Assessment newest_verdict(const SiteData& data) {
  const auto ended = std::ranges::find_if(
      data.nights, [](const fleet::Night& night) { return !night.summary.empty(); });
  et_schema::Assessment verdict;
  verdict.sentence = fmt::format("{} jobs; no night has ended yet.", data.jobs.size());
  if (ended != data.nights.end()) {
    const pages::Page night = night_page(nlohmann::ordered_json::parse(ended->summary));
    verdict = night.verdict;
    verdict.sentence = fmt::format("{}. {}", night.title, night.verdict.sentence);
  }
  if (ended != data.nights.begin()) {
    verdict.sentence += fmt::format(" Night {} is going on.", data.nights.front().id);
  }
  return verdict;
}

}  // namespace

std::size_t make_site(fleet::Connection& connection, const SiteOptions& options,
                      const OnPage& on_page, const OnSiteProgress& on_progress) {
  SiteData data = read_site_data(connection, options);
  data.platforms = compared_platforms(connection, options);
  const std::size_t platforms = data.platforms.platforms.size();
  std::size_t total =
      1 + data.jobs.size() + data.frame.nights.size() + (platforms == 0 ? 0 : 1 + platforms);
  std::size_t done = 0;
  const auto add = [&](const std::string& name, const pages::Page& page) {
    on_page(name, page);
    ++done;
    on_progress(done, std::max(done, total));
  };
  add("index.html",
      pages::fleet_page(fleet_document(connection, data), data.frame, newest_verdict(data)));
  for (const fleet::Job& job : data.jobs) {
    add(pages::job_file(job.name),
        pages::benchmark_page(benchmark_document(connection, data, job), data.frame));
  }
  if (platforms > 0) {
    add("platforms.html", pages::platforms_page(data.platforms, data.frame));
    for (std::size_t i = 0; i < platforms; ++i) {
      add(pages::page_name("platform", data.platforms.platforms[i].platform),
          pages::platform_page(data.platforms, i, data.frame));
    }
  }
  for (const fleet::Night& night : data.nights) {
    if (data.frame.nights.contains(night.id)) {
      pages::Page page =
          pages::within_site(night_page(night_document(connection, data, night)), data.frame);
      page.subtitle = night.opened_utc;
      add(pages::night_file(night.id), page);
    }
  }
  if (!options.store.empty()) {
    const std::string fleet = fleet::setting(connection, "id");
    for (const fleet::Result& result : data.newest) {
      if (result.source == fleet::kReplayed && !result.report.empty()) {
        add(replay_file(result), replay_page(options.store, fleet, result));
      }
    }
  }
  return done;
}

}  // namespace understudy::cli
