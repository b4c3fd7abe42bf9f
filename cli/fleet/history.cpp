#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "cli/pages/document/from_json.h"
#include "commands.h"
#include "fleet/database/schema.h"
#include "fleet/records/events.h"
#include "fleet/records/nights.h"
#include "fleet/records/results.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::counts, pages::figures, pages::ids, pages::percents, pages::table_at, pages::texts,
    pages::verdicts;

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

// ---- one job

struct Series {
  std::string platform;
  std::vector<fleet::Result> results;
};

std::vector<Series> series_of_job(fleet::Connection& connection, const HistoryArguments& arguments,
                                  const std::string& hash) {
  std::vector<Series> all;
  for (const fleet::SeriesName& name : fleet::series_of_benchmark(connection, hash)) {
    if (arguments.platform.empty() || name.platform == arguments.platform) {
      all.push_back(
          {name.platform, fleet::series_of(connection, hash, name.platform, arguments.last)});
    }
  }
  return all;
}

/// Results of one of the job's benchmarks over time.
struct Chapter {
  std::string hash;
  std::int64_t until_night = 0;  ///< night in which the job changed; 0: current benchmark
  std::vector<Series> series;
};

/// Returns the current benchmark, then earlier ones, newest first.
std::vector<Chapter> chapters_of_job(fleet::Connection& connection,
                                     const HistoryArguments& arguments, const std::string& hash,
                                     const std::vector<fleet::Event>& events) {
  std::vector<Chapter> chapters = {{hash, 0, series_of_job(connection, arguments, hash)}};
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (event->kind != fleet::kChanged) {
      continue;
    }
    const std::string before = Json::parse(event->detail).value("before", "");
    const bool is_told = std::ranges::any_of(
        chapters, [&](const Chapter& chapter) { return chapter.hash == before; });
    if (!before.empty() && !is_told) {
      chapters.push_back({before, event->night, series_of_job(connection, arguments, before)});
    }
  }
  return chapters;
}

Json series_json(const std::vector<Series>& all) {
  Json series = Json::array();
  for (const Series& one : all) {
    Json results = Json::array();
    for (const fleet::Result& result : one.results) {
      results.push_back({{"night", result.night},
                         {"date_utc", result.date_utc},
                         {"median_ms", result.median_ms},
                         {"low_ms", result.low_ms},
                         {"high_ms", result.high_ms},
                         {"coverage", result.coverage},
                         {"peak_bytes", result.peak_bytes},
                         {"environment", result.environment},
                         {"class_ms", result.class_ms}});
    }
    series.push_back({{"platform", one.platform}, {"results", std::move(results)}});
  }
  return series;
}

Json job_json(const HistoryArguments& arguments, const std::vector<Chapter>& chapters,
              const std::vector<fleet::Event>& events) {
  Json earlier = Json::array();
  for (std::size_t i = 1; i < chapters.size(); ++i) {
    earlier.push_back({{"benchmark_hash", chapters[i].hash},
                       {"until_night", chapters[i].until_night},
                       {"series", series_json(chapters[i].series)}});
  }
  Json happened = Json::array();
  for (const fleet::Event& event : fleet::told_once(events)) {
    happened.push_back({{"night", event.night},
                        {"kind", event.kind},
                        {"platform", event.platform},
                        {"text", event.text}});
  }
  return {{"format", "understudy-fleet-history"},
          {"version", 1},
          {"job", arguments.job},
          {"benchmark_hash", chapters.front().hash},
          {"series", series_json(chapters.front().series)},
          {"earlier", std::move(earlier)},
          {"events", std::move(happened)}};
}

/// Draws a line of bars: eight heights from the series' smallest to its largest value.
std::string sparkline(const std::vector<fleet::Result>& results) {
  static const std::vector<std::string> kSteps = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto [least, most] = std::ranges::minmax(results, {}, &fleet::Result::median_ms);
  std::string text;
  for (const fleet::Result& result : results) {
    const double span = most.median_ms - least.median_ms;
    const double share = span > 0 ? (result.median_ms - least.median_ms) / span : 0;
    text += kSteps.at(static_cast<std::size_t>(share * static_cast<double>(kSteps.size() - 1)));
  }
  return text;
}

/// Shows a table for each series, below a summary of its course.
pages::Section chapter_section(const Json& document, const std::vector<Chapter>& chapters,
                               std::size_t place) {
  const Chapter& chapter = chapters[place];
  const std::string before = place == 0 ? ""
                                        : fmt::format("  before night {}: benchmark {}",
                                                      chapter.until_night, chapter.hash);
  const std::string at = place == 0 ? "" : fmt::format("/earlier/{}", place - 1);
  pages::Section section{
      fmt::format("chapter-{}", place), place == 0 ? "Now" : "Results" + before, {}};
  for (std::size_t i = 0; i < chapter.series.size(); ++i) {
    section.blocks.emplace_back(
        table_at(document, fmt::format("{}/series/{}/results", at, i),
                 fmt::format("{}  {}{}", chapter.series[i].platform,
                             sparkline(chapter.series[i].results), before),
                 {ids("night"), figures("median ms", "median_ms"),
                  figures("from", "low_ms", 1, "95 % interval"),
                  figures("to", "high_ms", 1, "95 % interval"), percents("coverage"),
                  ids("environment"), texts("date", "date_utc")}));
  }
  if (chapter.series.empty()) {
    section.blocks.emplace_back(pages::Notes{{"No results"}});
  }
  return section;
}

pages::Page job_page(const HistoryArguments& arguments, const std::vector<Chapter>& chapters,
                     const std::vector<fleet::Event>& events) {
  const Json document = job_json(arguments, chapters, events);
  const std::string& hash = chapters.front().hash;
  pages::Page page;
  page.title = fmt::format("{}: benchmark {}", arguments.job, hash.empty() ? "none" : hash);
  for (std::size_t i = 0; i < chapters.size(); ++i) {
    page.sections.push_back(chapter_section(document, chapters, i));
  }
  page.sections.push_back({"events",
                           "What happened",
                           {table_at(document, "/events", "What happened",
                                     {ids("night"), verdicts("what", "kind"), texts("platform"),
                                      texts("more", "text")})}});
  return made_by("fleet", std::move(page), document, "history.json", 1);
}

int show_job(fleet::Connection& connection, const HistoryArguments& arguments) {
  const std::string hash = job_named(connection, arguments.job).benchmark_hash;
  const std::vector<fleet::Event> events = fleet::events_of_job(connection, arguments.job);
  const std::vector<Chapter> chapters = chapters_of_job(connection, arguments, hash, events);
  print_output(pages::written(job_page(arguments, chapters, events), arguments.format));
  return kStatusOk;
}

int fleet_history(int argc, char** argv) {
  const HistoryArguments arguments = read_history_arguments(argc, argv);
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  if (!arguments.job.empty()) {
    return show_job(*connection, arguments);
  }
  print_output(pages::written(nights_page(fleet::last_nights(*connection, arguments.last)),
                              arguments.format));
  return kStatusOk;
}

const Verb kHistory("fleet history", "Shows nights, or a job's results",
                    on_database<fleet_history>);

}  // namespace
}  // namespace understudy::cli
