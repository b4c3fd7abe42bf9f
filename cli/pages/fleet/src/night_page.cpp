#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "et_schema/base/figures.h"
#include "fleet_parts.h"

namespace understudy::pages {
namespace {

using et_schema::with_commas;

std::string night_verdict(const Json& night, std::uint64_t failed) {
  std::vector<std::string> parts;
  const auto add = [&parts](std::uint64_t count, const char* what) {
    if (count > 0) {
      parts.push_back(fmt::format("{} {}", with_commas(count), what));
    }
  };
  add(failed, "failed");
  for (const auto& [key, what] : {std::pair("broken", "broken"),
                                  {"still_broken", "still broken"},
                                  {"slower", "slower"},
                                  {"drifted", "drifted"},
                                  {"faster", "faster"},
                                  {"recovered", "recovered"},
                                  {"turned", "turned in a night before"},
                                  {"unjudged", "not judged"}}) {
    add(count_in(night, key), what);
  }
  return fmt::format(
      "Night {} is {}: of {} jobs {} unchanged, {} made anew, {} replayed; {}.",
      text_in(night, "name"), night.at("state") == "open" ? "still open" : "done",
      with_commas(count_in(night, "jobs")), with_commas(count_in(night, "unchanged")),
      with_commas(count_in(night, "generated")), with_commas(count_in(night, "replayed")),
      parts.empty() ? "nothing failed, broke, got slower or drifted"
                    : fmt::format("{}", fmt::join(parts, ", ")));
}

Section items_section(const Json& document, const SiteFrame& frame) {
  Table table =
      table_at(document, "/items", "Work of the night",
               {texts("job"), texts("what", "kind"), verdicts("state"), texts("platform"),
                figures("seconds", "duration_s"), counts("attempts"), texts("more", "text")});
  link_jobs(table, frame, "job");
  return {"items", "Work", {table}};
}

Section about_section(const Json& document, const SiteFrame& frame) {
  const Json& night = document.at("night");
  const std::string closed = text_in(document, "closed");
  Facts facts = {{"opened", text_in(night, "date")},
                 {"closed", closed.empty() ? "still open" : closed},
                 fact_at(document, "/night/duration_s", "seconds", CellKind::kFigure),
                 fact_at(document, "/platforms", "platforms", CellKind::kText)};
  const std::int64_t id = std::stoll(text_in(night, "name"));
  const auto beside = frame.nights.find(id);
  if (beside != frame.nights.end() && beside != frame.nights.begin()) {
    facts.push_back({"before", Link{"the night before", night_file(*std::prev(beside))}});
  }
  if (beside != frame.nights.end() && std::next(beside) != frame.nights.end()) {
    facts.push_back({"after", Link{"the night after", night_file(*std::next(beside))}});
  }
  return {"about", "The night", {facts}};
}

}  // namespace

Page night_page(const Json& document, const SiteFrame& frame) {
  const Json& night = document.at("night");
  const auto failed = static_cast<std::uint64_t>(std::ranges::count_if(
      document.at("items"), [](const Json& item) { return item.at("state") == "failed"; }));
  const std::uint64_t bad = failed + count_in(night, "broken") + count_in(night, "still_broken") +
                            count_in(night, "slower");
  const std::uint64_t attention =
      count_in(night, "drifted") + count_in(night, "turned") + count_in(night, "unjudged");
  Page page = framed(frame);
  page.title = "Night " + text_in(night, "name");
  page.subtitle = text_in(night, "date");
  page.verdict.tone = bad > 0                       ? Tone::kBad
                      : attention > 0               ? Tone::kAttention
                      : night.at("state") == "open" ? Tone::kNeutral
                                                    : Tone::kGood;
  page.verdict.sentence = night_verdict(night, failed);
  page.sections = {events_section(frame, document, false), items_section(document, frame),
                   about_section(document, frame)};
  set_data(page, document, "night.json");
  return page;
}

}  // namespace understudy::pages
