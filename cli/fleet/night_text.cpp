#include "fleet/night_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace understudy::cli {
namespace {

/// A night of before may lack a list.
nlohmann::json list_of(const nlohmann::json& night, const char* key) {
  return night.value(key, nlohmann::json::array());
}

/// What drifted changed, too: it is told once, as what it is more.
nlohmann::json list_once(const nlohmann::json& night, const std::string& key) {
  nlohmann::json rows = nlohmann::json::array();
  const nlohmann::json drifted = list_of(night, "drifted");
  for (const nlohmann::json& row : list_of(night, key.c_str())) {
    const auto is_same = [&](const nlohmann::json& other) {
      return other.at("job") == row.at("job");
    };
    if (key != "changed" || std::ranges::none_of(drifted, is_same)) {
      rows.push_back(row);
    }
  }
  return rows;
}

std::string verdict_of(const nlohmann::json& night) {
  std::string verdict;
  const auto add = [&](const char* key, const char* word) {
    if (const std::size_t count = list_once(night, key).size(); count > 0) {
      verdict += fmt::format("{}{} {}", verdict.empty() ? "" : ", ", count, word);
    }
  };
  add("broken", "BROKEN");
  add("slower", "SLOWER");
  add("still_broken", "STILL BROKEN");
  add("faster", "faster");
  add("recovered", "recovered");
  add("changed", "changed");
  add("drifted", "drifted");
  add("change_points", "turned");
  add("unjudged", "not judged");
  return verdict.empty() ? "no alarms" : verdict;
}

std::string section(const nlohmann::json& night, const char* key, const char* title) {
  std::string text;
  for (const nlohmann::json& row : list_once(night, key)) {
    const std::string platform = row.value("platform", "");
    const nlohmann::json told = row.value("told_in_night", nlohmann::json());
    text +=
        fmt::format("  {}{}: {}{}\n", row.at("job").get<std::string>(),
                    platform.empty() ? "" : " on " + platform, row.at("text").get<std::string>(),
                    told.is_number() ? fmt::format(" (told in night {})", told.get<int>()) : "");
  }
  return text.empty() ? "" : fmt::format("\n{}\n{}", title, text);
}

std::string lines(const nlohmann::json& night, const char* key, const char* title) {
  std::string text;
  for (const nlohmann::json& row : night.at(key)) {
    text += fmt::format("  {}\n", row.get<std::string>());
  }
  return text.empty() ? "" : fmt::format("\n{}\n{}", title, text);
}

std::string still_broken(const nlohmann::json& night) {
  std::string text;
  for (const nlohmann::json& row : night.at("still_broken")) {
    const std::string platform = row.value("platform", "");
    text +=
        fmt::format("  {}{} since night {}: {}\n", row.at("job").get<std::string>(),
                    platform.empty() ? "" : " on " + platform,
                    row.at("since_night").get<std::int64_t>(), row.at("text").get<std::string>());
  }
  return text.empty() ? "" : "\nStill broken\n" + text;
}

}  // namespace

std::string night_text(const std::string& summary) {
  const nlohmann::json night = nlohmann::json::parse(summary);
  const nlohmann::json& unchanged = night.at("unchanged");
  std::string text = fmt::format(
      "Night {}: {}\n{} job{}: {} unchanged by their files' times, {} by content, {} rebuilt; {} "
      "replayed\n{}",
      night.at("night").get<std::int64_t>(), verdict_of(night),
      night.at("jobs").get<std::int64_t>(), night.at("jobs") == 1 ? "" : "s",
      unchanged.at("by_time").get<std::int64_t>(), unchanged.at("by_content").get<std::int64_t>(),
      night.at("made").get<std::int64_t>(), night.at("replayed").get<std::int64_t>(),
      night.at("jobs") == 0 ? "The fleet has no jobs: fleet add DATABASE TRACES\n" : "");
  text += section(night, "broken", "Broken");
  text += section(night, "slower", "Slower");
  text += section(night, "faster", "Faster");
  text += section(night, "recovered", "Recovered: as fast again as before it became slower");
  text +=
      section(night, "unjudged",
              "Not judged: others were at work on the machine, or its own speed changed as much");
  text += section(night, "change_points", "Turned, as the series show by now");
  text += section(night, "drifted", "Drifted: the job changed, and does other work than before");
  text += section(night, "changed", "Changed");
  text += still_broken(night);
  text += lines(night, "skipped", "Not replayed on this node");
  text += lines(night, "not_run", "Not run");
  if (const auto why = night.at("change_points_not_looked_for").get<std::string>(); !why.empty()) {
    text += fmt::format("\nChange points were not looked for: {}\n", why);
  }
  return text;
}

bool is_bad_night(const std::string& summary) {
  const nlohmann::json night = nlohmann::json::parse(summary);
  // A slowdown that only the series shows is news; one that its own night told is none.
  const nlohmann::json points = list_of(night, "change_points");
  return !night.at("broken").empty() || !night.at("slower").empty() ||
         std::ranges::any_of(points, [](const nlohmann::json& point) {
           return point.value("is_slower", false) &&
                  point.value("told_in_night", nlohmann::json()).is_null();
         });
}

}  // namespace understudy::cli
