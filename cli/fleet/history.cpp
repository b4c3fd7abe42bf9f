#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/json_csv.h"
#include "common/output.h"
#include "common/run_main.h"
#include "common/table.h"
#include "et_schema/support/error.h"
#include "fleet/commands.h"
#include "fleet/database/schema.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"
#include "fleet/records/nights.h"
#include "fleet/records/results.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;

struct HistoryArguments {
  std::string url;
  std::string job;
  std::string platform;
  std::size_t last = 30;
  Format format = Format::kText;
};

HistoryArguments read_history_arguments(int argc, char** argv) {
  HistoryArguments arguments;
  const auto app = make_app(
      {.name = "fleet history",
       .description = "Shows the last nights; or one job's results, night by night and platform by "
                      "platform, with what happened to it.",
       .examples = "  fleet history fleet.db                        the last nights\n"
                   "  fleet history fleet.db ads-ranker             one job\n"
                   "  fleet history fleet.db ads-ranker --platform a100 --last 90 --format csv\n",
       .failure = "the database failed"});
  add_database_option(*app, arguments.url);
  app->add_option("JOB", arguments.job, "A job's name");
  app->add_option("--platform", arguments.platform, "Only this platform")->type_name("NAME");
  app->add_option("--last", arguments.last, "Number of nights or results")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str();
  add_format_option(*app, arguments.format);
  parse_arguments(*app, argc, argv);
  return arguments;
}

// ---- nights

std::string_view word_of(std::string_view key) {
  return key == "change_points"  ? "turned"
         : key == "unjudged"     ? "not judged"
         : key == "still_broken" ? "still broken"
                                 : key;
}

std::string changes_of(const Json& summary) {
  std::string text;
  for (const char* key : {"broken", "slower", "still_broken", "faster", "recovered", "changed",
                          "drifted", "change_points", "unjudged"}) {
    std::size_t count = summary.value(key, Json::array()).size();
    if (std::string_view(key) == "changed") {  // what drifted changed, too: it is told as that
      count -= std::min(count, summary.value("drifted", Json::array()).size());
    }
    if (count > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word_of(key));
    }
  }
  return text.empty() ? "no alarms" : text;
}

TextTable nights_table(const std::vector<fleet::Night>& nights) {
  TextTable table({{"night", Alignment::kRight},
                   {"opened"},
                   {"closed"},
                   {"jobs", Alignment::kRight},
                   {"made", Alignment::kRight},
                   {"replayed", Alignment::kRight},
                   {"what"}});
  for (const fleet::Night& night : nights) {
    const Json summary = night.summary.empty() ? Json() : Json::parse(night.summary);
    const bool is_open = summary.is_null();
    table.add({std::to_string(night.id), night.opened_utc, night.closed_utc,
               std::to_string(night.jobs),
               is_open ? "" : std::to_string(summary.at("made").get<int>()),
               is_open ? "" : std::to_string(summary.at("replayed").get<int>()),
               is_open ? "open" : changes_of(summary)});
  }
  return table;
}

std::string nights_json(const std::vector<fleet::Night>& nights) {
  Json list = Json::array();
  for (const fleet::Night& night : nights) {
    list.push_back({{"night", night.id},
                    {"opened_utc", night.opened_utc},
                    {"closed_utc", night.closed_utc.empty() ? Json() : Json(night.closed_utc)},
                    {"summary", night.summary.empty() ? Json() : Json::parse(night.summary)}});
  }
  return Json{{"format", "understudy-fleet-nights"}, {"version", 1}, {"nights", std::move(list)}}
             .dump(1, ' ', false, Json::error_handler_t::replace) +
         "\n";
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

/// The results of one of the benchmarks that stood for a job.
struct Chapter {
  std::string hash;
  std::int64_t until_night = 0;  ///< in which the job changed; 0: it is today's
  std::vector<Series> series;
};

/// Today's benchmark, then those before it, newest first.
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

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json series_json(const std::vector<Series>& all) {
  Json series = Json::array();
  for (const Series& one : all) {
    Json results = Json::array();
    for (const fleet::Result& result : one.results) {
      results.push_back({{"night", result.night},
                         {"date_utc", result.date_utc},
                         {"median_ms", number(result.median_ms)},
                         {"low_ms", number(result.low_ms)},
                         {"high_ms", number(result.high_ms)},
                         {"coverage", number(result.coverage)},
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
  for (const fleet::Event& event : events) {
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

/// A bar for people: eight steps from the series' least to its largest.
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

std::string series_text(const std::vector<Series>& all) {
  std::string text;
  for (const Series& one : all) {
    text += fmt::format("\n{}  {}\n", one.platform, sparkline(one.results));
    TextTable table({{"night", Alignment::kRight},
                     {"date"},
                     {"median ms", Alignment::kRight},
                     {"95 % interval", Alignment::kRight},
                     {"environment", Alignment::kRight}});
    for (const fleet::Result& result : one.results) {
      table.add({std::to_string(result.night), result.date_utc,
                 fmt::format("{:.3f}", result.median_ms),
                 std::isfinite(result.low_ms)
                     ? fmt::format("{:.3f} to {:.3f}", result.low_ms, result.high_ms)
                     : "",
                 std::to_string(result.environment)});
    }
    text += table.to_text();
  }
  return all.empty() ? "No results\n" : text;
}

std::string job_text(const HistoryArguments& arguments, const std::vector<Chapter>& chapters,
                     const std::vector<fleet::Event>& events) {
  const Chapter& now = chapters.front();
  std::string text =
      fmt::format("{}: benchmark {}\n", arguments.job, now.hash.empty() ? "none" : now.hash);
  text += series_text(now.series);
  for (std::size_t i = 1; i < chapters.size(); ++i) {
    text +=
        fmt::format("\nBefore night {}: benchmark {}\n", chapters[i].until_night, chapters[i].hash);
    text += series_text(chapters[i].series);
  }
  if (!events.empty()) {
    text += "\nWhat happened\n";
    for (const fleet::Event& event : fleet::told_once(events)) {
      text += fmt::format("  night {}{}: {}: {}\n", event.night,
                          event.platform.empty() ? "" : " on " + event.platform, event.kind,
                          event.text);
    }
  }
  return text;
}

int show_job(fleet::Connection& connection, const HistoryArguments& arguments) {
  const std::vector<fleet::Job> jobs = fleet::all_jobs(connection);
  const auto job = std::ranges::find(jobs, arguments.job, &fleet::Job::name);
  if (job == jobs.end()) {
    throw et_schema::usage_error("no job has that name",
                                 {.got = arguments.job, .hint = "fleet jobs lists them"});
  }
  const auto benchmark = fleet::find_benchmark(connection, job->benchmark);
  const std::string hash = benchmark ? benchmark->benchmark_hash : "";
  const std::vector<fleet::Event> events = fleet::events_of_job(connection, arguments.job);
  const std::vector<Chapter> chapters = chapters_of_job(connection, arguments, hash, events);
  print_output(as_asked(
      arguments.format, job_json(arguments, chapters, events),
      [&] { return job_text(arguments, chapters, events); }, 1));
  return kStatusOk;
}

}  // namespace

int fleet_history(int argc, char** argv) {
  const HistoryArguments arguments = read_history_arguments(argc, argv);
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  if (!arguments.job.empty()) {
    return show_job(*connection, arguments);
  }
  const std::vector<fleet::Night> nights = fleet::last_nights(*connection, arguments.last);
  print_output(
      arguments.format == Format::kCsv
          ? nights_table(nights).to_csv()
          : as_asked(
                arguments.format, nights_json(nights),
                [&] { return nights.empty() ? "No night yet\n" : nights_table(nights).to_text(); },
                1));
  return kStatusOk;
}

}  // namespace understudy::cli
