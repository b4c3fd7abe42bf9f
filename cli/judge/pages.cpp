#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "cli/pages/fleet/fleet_pages.h"
#include "fleet/analysis/series_changes.h"
#include "rows.h"
#include "tasks.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::counts, pages::figures, pages::table_at, pages::texts;

/// A page, and whether it tells of an alarm.
struct Shown {
  pages::Page page;
  bool is_alarm = false;
};

Shown jobs_page(const Json& document) {
  pages::Page page;
  page.title = "Jobs of the fleet";
  page.sections = {
      {"jobs",
       "Jobs",
       {table_at(document, "/jobs", "Jobs",
                 {texts("job"), figures("weight"), counts("ranks"), counts("bytes"),
                  texts("benchmark", "benchmark_hash"), texts("state"), texts("tags")})}}};
  set_data(page, document, "jobs.json", 1);
  return {std::move(page)};
}

Shown verify_page(const Json& document) {
  const std::size_t faults = document.at("faults").size();
  pages::Page page;
  page.title =
      fmt::format("{} objects, {} that nothing refers to", pages::count_in(document, "checked"),
                  pages::count_in(document, "unreferred"));
  page.verdict.tone = faults == 0 ? pages::Tone::kGood : pages::Tone::kBad;
  page.verdict.sentence =
      faults == 0 ? std::string("All are whole.") : fmt::format("{} are NOT whole.", faults);
  pages::Section section{"faults",
                         "What is not whole",
                         {table_at(document, "/faults", "What is not whole",
                                   {texts("path"), texts("what"), texts("of")})}};
  if (faults > 0) {
    section.blocks.emplace_back(pages::Notes{
        {"A night that replays makes its jobs' benchmarks anew. Of a lost report the figures stay; "
         "`understudy fleet gc --keep-nights N` lets go of those before the last N nights."}});
  }
  page.sections = {std::move(section)};
  return {made_by("fleet", std::move(page), document, "verify.json", 1), faults > 0};
}

Shown history_page(Json document) {
  complete_history(document);
  return {pages::benchmark_page(document, {})};
}

Shown shown(const Json& document) {
  static const std::map<std::string, Shown (*)(const Json&)> kPages = {
      {"understudy-fleet-history", [](const Json& json) { return history_page(json); }},
      {"understudy-fleet-jobs", jobs_page},
      {"understudy-fleet-nights", [](const Json& json) { return Shown{pages::nights_page(json)}; }},
      {"understudy-fleet-verify", verify_page},
      {"understudy-night", [](const Json& json) {
         return Shown{night_page(json), has_alarm(json)};
       }}};
  const std::string format = pages::text_in(document, "format");
  const auto page = kPages.find(format);
  if (page == kPages.end()) {
    throw et_schema::bad_input(request_source().summary,
                               {.file = request_source().file,
                                .field = "document.format",
                                .expected = "understudy-night, or one of understudy-fleet-",
                                .got = format,
                                .hint = request_source().hint});
  }
  return page->second(document);
}

struct PlatformsRequest {
  std::string baseline;
  std::vector<fleet::PlatformRow> benchmarks;
};

void members(auto& json, et_schema::SameAs<PlatformsRequest> auto& request) {
  json("baseline", request.baseline);
  json("benchmarks", request.benchmarks);
}

void complete_series(Json& platforms) {
  for (Json& series : platforms) {
    std::vector<fleet::SeriesNight> nights;
    for (const Json& result : series.at("results")) {
      const Json& night = result.at("night");
      nights.push_back(
          {night.is_null() ? "" : night.get<std::string>(), pages::number_in(result, "ms")});
    }
    const nlohmann::json events = series.at("events");
    series.erase("events");
    series["changes"] = et_schema::json_of(fleet::series_changes(
        et_schema::read_json<std::vector<fleet::SeriesEvent>>({events, request_source()}), nights));
    if (const std::string name = pages::text_in(series, "report"); !name.empty()) {
      series["report"] = pages::page_name("replay", name);
    }
  }
}

}  // namespace

/// Draws a document.
Answer page_task(std::istream& text, const TaskOptions& options) {
  Answer answer;
  of_document([&] {
    const Json request = document_in(all_of(text));
    auto [page, is_alarm] = shown(request.at("document"));
    if (const std::string sentence = request.value("sentence", ""); !sentence.empty()) {
      page.verdict.sentence = sentence;
    }
    answer = {pages::written(page, options.format),
              is_alarm ? static_cast<int>(et_schema::ErrorKind::kFailed) : kStatusOk};
  });
  return answer;
}

/// Compares platforms with a baseline.
Answer platforms_task(std::istream& text, const TaskOptions& options) {
  const auto request = request_in<PlatformsRequest>(all_of(text));
  return {pages::written(
      pages::platforms_page(fleet::compare_platforms(request.benchmarks, request.baseline), {}),
      options.format)};
}

void complete_history(Json& history) {
  complete_series(history.at("platforms"));
  for (Json& earlier : history.at("earlier")) {
    complete_series(earlier.at("platforms"));
  }
}

}  // namespace understudy::cli
