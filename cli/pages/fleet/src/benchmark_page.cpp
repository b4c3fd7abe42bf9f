#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cli/pages/document/table.h"
#include "et_schema/base/figures.h"
#include "fleet/analysis/series_changes.h"
#include "fleet_parts.h"

namespace understudy::pages {
namespace {

std::string night_text(const Json& result) {
  return result.at("night").is_null() ? "–" : text_in(result, "night");
}

/// Returns the night in which a series changed: that of the first result after the change.
std::string night_of(const Json& change, const Json& results) {
  const std::uint64_t index = count_in(change, "index");
  return index < results.size() ? night_text(results[index]) : "–";
}

double ratio_of(const Json& change) {
  return number_in(change, "after_ms") / number_in(change, "before_ms");
}

bool is_predicted(const Json& platform) {
  return platform.at("results").back().at("source") == "prediction";
}

/// `at`: JSON pointer to the platform.
Table time_series(const Json& document, const std::string& at, const std::string& id) {
  const Json& platform = document.at(Json::json_pointer(at));
  Table table = table_at(document, at + "/results", "",
                         {texts("night"), figures("median", "ms"), figures("95 % from", "low_ms"),
                          figures("to", "high_ms"), verdicts("change")});
  table.id = id + "-times";
  for (const Json& change : platform.at("changes")) {
    if (const std::uint64_t index = count_in(change, "index"); index < table.rows.size()) {
      table.rows[index].back() = fmt::format("{} ({})", ratio_of(change) > 1 ? "slower" : "faster",
                                             change_text(ratio_of(change)));
    }
  }
  return drawn(std::move(table),
               {.draw = Draw::kSeries,
                .caption = "Median time of an iteration by night, with its 95 % interval; a mark "
                           "stands where the series changed.",
                .columns = {1, 2, 3},
                .unit = "ms",
                .bounds = {2, 3},
                .words = 4,
                .from_zero = false});
}

/// Returns a series by night of the classes that take most time.
Table class_series(const Json& results, const std::string& id) {
  std::map<std::string, double> sums;
  for (const Json& result : results) {
    for (const auto& [name, ms] : result.at("class_ms").items()) {
      sums[name] += ms.get<double>();
    }
  }
  std::vector<std::pair<std::string, double>> classes(sums.begin(), sums.end());
  std::ranges::stable_sort(classes,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr std::size_t kMostClasses = 8;
  Plot plot{.draw = Draw::kSeries,
            .caption = classes.size() > kMostClasses
                           ? "Time by class of operator by night, the eight largest."
                           : "Time by class of operator by night.",
            .unit = "ms"};
  classes.resize(std::min(classes.size(), kMostClasses));
  Table table{.id = id + "-classes", .columns = {texts("night")}};
  for (const auto& [name, sum] : classes) {
    plot.columns.push_back(table.columns.size());
    table.columns.push_back(figures(name));
  }
  for (const Json& result : results) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row.emplace_back(night_text(result));
    for (const auto& [name, sum] : classes) {
      const Json& class_ms = result.at("class_ms");
      row.push_back(class_ms.contains(name) ? cell_of(class_ms[name]) : Cell());
    }
  }
  return drawn(std::move(table), std::move(plot));
}

Notes changes_of(const Json& platform) {
  Notes notes;
  for (const Json& change : platform.at("changes")) {
    const std::string what = text_in(change, "text");
    const auto fields = change.at("environment").get<std::vector<std::string>>();
    notes.texts.push_back(fmt::format(
        "Since night {}: {} → {} ms, {}{}{}.{}", night_of(change, platform.at("results")),
        et_schema::figure_text(number_in(change, "before_ms")),
        et_schema::figure_text(number_in(change, "after_ms")), change_text(ratio_of(change)),
        what.empty() ? "" : ": ", what,
        fields.empty() ? " Nothing in the environment changed with it."
                       : fmt::format(" Changed with it: {}.", fmt::join(fields, ", "))));
  }
  if (notes.texts.empty()) {
    notes.texts.emplace_back("No change in this series.");
  }
  return notes;
}

Table results_table(const Json& document, const std::string& at, const std::string& where,
                    const SiteFrame& frame) {
  constexpr const char* kInterval = "95 % interval of the median";
  Table table = table_at(
      document, at + "/results", where + ": results, the newest first",
      {texts("night"), texts("date"), figures("ms"), figures("from", "low_ms", 1, kInterval),
       figures("to", "high_ms", 1, kInterval), percents("coverage"),
       byte_counts("peak", "peak_bytes"), texts("source"), texts("software"), texts("report")});
  table.at.clear();  // the data has its rows in the other order
  table.shown = 20;
  std::ranges::reverse(table.rows);
  link_nights(table, frame, "night");
  if (const std::string href = text_in(document.at(Json::json_pointer(at)), "report");
      !table.rows.empty()) {
    table.rows.front().back() = href.empty() ? Cell() : link_cell("page", href);
  }
  return table;
}

/// Adds a section for each platform in the list that `list` points to.
void add_platforms(const Json& document, const std::string& list, const std::string& when,
                   const SiteFrame& frame, std::vector<Section>& sections) {
  const Json& platforms = document.at(Json::json_pointer(list));
  for (std::size_t i = 0; i < platforms.size(); ++i) {
    const std::string id = fmt::format("platform-{}", sections.size());
    const std::string at = fmt::format("{}/{}", list, i);
    const Json& platform = platforms[i];
    const Json& results = platform.at("results");
    const std::string where = "On " + text_in(platform, "platform") + when;
    Section& section = sections.emplace_back(Section{id, where, {}});
    if (results.size() > 1) {
      section.blocks = {time_series(document, at, id), changes_of(platform),
                        class_series(results, id)};
    }
    section.blocks.emplace_back(results_table(document, at, where, frame));
  }
}

Section about_section(const Json& document) {
  Facts facts = facts_at(
      document, "",
      {texts("traces"), texts("benchmark", "benchmark_hash"), texts("made", "made_utc"),
       texts("generator"), texts("flags"), counts("ranks"),
       figures("weight in the fleet", "weight"), texts("tags"),
       figures("recorded step", "step_ms", 1, "ms"), counts("names of operators", "operator_names"),
       counts("collectives"), counts("losses")});
  std::erase_if(
      facts, [](const Fact& fact) { return std::holds_alternative<std::monostate>(fact.value); });
  return {"about",
          "The benchmark",
          {facts, class_share_bars(
                      document, document.at("is_timed").get<bool>()
                                    ? "Share of the recorded time by class."
                                    : "Share of the calls by class: the traces have no times.")}};
}

struct Verdict {
  Tone tone = Tone::kNeutral;
  std::string text;
};

/// Compares the newest result with the level before the last change.
Verdict since_last_change(const Json& platform) {
  const Json& results = platform.at("results");
  const Json& change = platform.at("changes").back();
  const double newest_ms = number_in(results.back(), "ms");
  const double before_ms = number_in(change, "before_ms");
  const std::string night = night_of(change, results);
  const std::string before =
      fmt::format("as before night {}, which was {}: {} ms", night, change_text(ratio_of(change)),
                  et_schema::figure_text(before_ms));
  const std::string since =
      fmt::format("{} since night {}", change_text(newest_ms / before_ms), night);
  switch (fleet::since_change({.before_ms = before_ms,
                               .after_ms = number_in(change, "after_ms"),
                               .is_recovery = change.at("is_recovery").get<bool>()},
                              newest_ms)) {
    case fleet::SinceChange::kBackFromSlower:
      return {Tone::kGood, before};
    case fleet::SinceChange::kBackFromRecovery:
      return {Tone::kBad, before};
    case fleet::SinceChange::kBackFromFaster:
      return {Tone::kAttention, before};
    case fleet::SinceChange::kRecovered:
      return {Tone::kGood, since + ", as before it became slower"};
    case fleet::SinceChange::kSlower:
      return {Tone::kBad, since};
    case fleet::SinceChange::kFaster:
      break;
  }
  return {Tone::kGood, since};
}

Verdict verdict_of(const Json& document) {
  if (const std::string broken = text_in(document, "broken"); !broken.empty()) {
    return {Tone::kBad, "No benchmark could be made of the newest traces: " + broken};
  }
  if (const std::string failing = text_in(document, "failing"); !failing.empty()) {
    return {Tone::kBad, "Its replay fails: " + failing};
  }
  const Json* newest = nullptr;
  for (const Json& platform : document.at("platforms")) {
    const bool is_better = newest == nullptr || is_predicted(*newest);
    newest = is_better && !platform.at("results").empty() ? &platform : newest;
  }
  if (newest == nullptr) {
    return {Tone::kNeutral, "It was not replayed yet."};
  }
  const Json& results = newest->at("results");
  const std::string ms = et_schema::figure_text(number_in(results.back(), "ms"));
  if (is_predicted(*newest)) {
    return {Tone::kNeutral,
            fmt::format("{} ms an iteration are predicted for {}; it was not replayed yet.", ms,
                        text_in(*newest, "platform"))};
  }
  const std::string night = night_text(results.back());
  const std::string text =
      fmt::format("{} ms an iteration on {}{}", ms, text_in(*newest, "platform"),
                  night == "–" ? ", imported" : " in night " + night);
  for (const Json& platform : document.at("platforms")) {
    if (!platform.at("changes").empty() && !platform.at("results").empty()) {
      const Verdict since = since_last_change(platform);
      return {since.tone,
              fmt::format("{}; on {} {}.", text, text_in(platform, "platform"), since.text)};
    }
  }
  if (document.at("state") == "unjudged") {
    return {Tone::kAttention, text + "; not judged against the nights before."};
  }
  if (results.size() == 1) {
    return {Tone::kNeutral, text + "; its first result."};
  }
  return {Tone::kGood, fmt::format("{}; no change in {} results.", text,
                                   et_schema::with_commas(results.size()))};
}

}  // namespace

Page benchmark_page(const Json& document, const SiteFrame& frame) {
  const Verdict verdict = verdict_of(document);
  Page page = framed(frame);
  page.title = text_in(document, "job");
  page.subtitle = fmt::format("benchmark {}, {}", text_in(document, "benchmark_hash"),
                              text_in(document, "state"));
  page.verdict.tone = verdict.tone;
  page.verdict.sentence = verdict.text;
  add_platforms(document, "/platforms", "", frame, page.sections);
  const Json& earlier = document.at("earlier");
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    add_platforms(
        document, fmt::format("/earlier/{}/platforms", i),
        fmt::format(", before night {}: benchmark {}", count_in(earlier[i], "until_night"),
                    text_in(earlier[i], "benchmark_hash")),
        frame, page.sections);
  }
  page.sections.push_back(events_section(frame, document, true));
  page.sections.push_back(about_section(document));
  set_data(page, document, "benchmark.json");
  return page;
}

}  // namespace understudy::pages
