#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"
#include "tasks.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::counts, pages::figures, pages::ids, pages::table_at, pages::texts, pages::verdicts;

/// A list of the summary: its title, and its words in a sentence.
struct NightList {
  const char* key;
  const char* word;
  const char* title;
};
constexpr std::array<NightList, 9> kLists = {
    {{"broken", "BROKEN", "Broken"},
     {"slower", "SLOWER", "Slower"},
     {"still_broken", "STILL BROKEN", "Still broken"},
     {"faster", "faster", "Faster"},
     {"recovered", "recovered", "Recovered: as fast again as before it became slower"},
     {"changed", "changed", "Changed"},
     {"drifted", "drifted", "Drifted: the job changed, and does other work than before"},
     {"change_points", "turned", "Turned, as the series show by now"},
     {"unjudged", "not judged",
      "Not judged: others were at work on the machine, or its own speed changed as much"}}};

/// Returns a list of the summary. A drifted job has also changed; it is listed once, as drifted.
Json list_of(const Json& night, const std::string& key) {
  Json list = night.at(key);
  if (key == "changed") {
    const Json& drifted = night.at("drifted");
    for (std::size_t i = list.size(); i-- > 0;) {
      if (std::ranges::any_of(
              drifted, [&](const Json& row) { return row.at("job") == list[i].at("job"); })) {
        list.erase(i);
      }
    }
  }
  return list;
}

pages::Tone tone_of(const Json& night) {
  const auto has = [&night](const char* key) { return !list_of(night, key).empty(); };
  if (has_alarm(night) || has("still_broken")) {
    return pages::Tone::kBad;
  }
  return has("drifted") || has("change_points") || has("unjudged") ? pages::Tone::kAttention
                                                                   : pages::Tone::kGood;
}

/// Returns the table of a list, without columns that are empty in all rows.
pages::Table told(const Json& night, const NightList& list) {
  const Json rows = {{list.key, list_of(night, list.key)}};
  std::vector<pages::Column> columns = {texts("job")};
  for (const pages::Column& column : {texts("platform"), ids("since night", "since_night"),
                                      ids("told in night", "told_in_night")}) {
    const auto has_it = [&column](const Json& row) {
      return row.contains(column.key) &&
             !std::holds_alternative<std::monostate>(pages::cell_of(row.at(column.key)));
    };
    if (std::ranges::any_of(rows[list.key], has_it)) {
      columns.push_back(column);
    }
  }
  columns.push_back(texts("what", "text"));
  return table_at(rows, std::string("/") + list.key, list.title, std::move(columns));
}

/// Returns "1 BROKEN, 2 drifted".
std::string counts_of_night(const Json& night) {
  std::string text;
  for (const NightList& list : kLists) {
    if (const std::size_t count = list_of(night, list.key).size(); count > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, list.word);
    }
  }
  return text.empty() ? "no alarms" : text;
}

}  // namespace

bool has_alarm(const Json& night) {
  // A change point lies in an earlier night. It counts only if that night did not report it.
  return !night.at("broken").empty() || !night.at("slower").empty() ||
         std::ranges::any_of(night.at("change_points"), [](const Json& point) {
           return point.at("is_slower") == true && point.at("told_in_night").is_null();
         });
}

pages::Page night_page(const Json& night) {
  const Json& unchanged = night.at("unchanged");
  pages::Page page;
  page.title = fmt::format("Night {}: {}", pages::count_in(night, "night"), counts_of_night(night));
  page.verdict.tone = tone_of(night);
  page.verdict.sentence =
      fmt::format("{}: {} unchanged by their files' times, {} by content, {} rebuilt; {} replayed.",
                  et_schema::counted(pages::count_in(night, "jobs"), "job"),
                  pages::count_in(unchanged, "by_time"), pages::count_in(unchanged, "by_content"),
                  pages::count_in(night, "made"), pages::count_in(night, "replayed"));
  if (night.at("jobs") == 0) {
    page.verdict.findings.emplace_back(
        "The fleet has no jobs: understudy fleet add DATABASE TRACES");
  }
  if (const std::string why = pages::text_in(night, "change_points_not_looked_for"); !why.empty()) {
    page.verdict.findings.push_back("Change points were not looked for: " + why);
  }
  if (night.at("replayed") != 0 && night.at("compared") == 0) {
    page.verdict.findings.emplace_back(
        "Nothing could be judged: no replay has a quiet night before it to be held against.");
  }
  pages::Section section{"night", "What happened", {}};
  for (const NightList& list : kLists) {
    section.blocks.emplace_back(told(night, list));
  }
  section.blocks.emplace_back(
      table_at(night, "/replays", "Replays, those first that differ most from the night before",
               {texts("job"), texts("platform"), figures("ms"), figures("low", "low_ms"),
                figures("high", "high_ms"), figures("ratio")},
               20));
  section.blocks.emplace_back(
      table_at(night, "/skipped", "Not replayed on this node", {texts("what", "value")}));
  section.blocks.emplace_back(table_at(night, "/not_run", "Not run", {texts("what", "value")}));
  section.blocks.emplace_back(
      table_at(night, "/work", "Work",
               {texts("job"), texts("what", "kind"), verdicts("state"), texts("platform"),
                figures("seconds", "duration_s"), counts("attempts"), texts("more", "text")}));
  page.sections = {std::move(section)};
  return made_by("fleet", std::move(page), night, "night.json", 1);
}

}  // namespace understudy::cli
