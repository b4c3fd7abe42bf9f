#include "fleet_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/figures.h"
#include "pages/plots/plots.h"

namespace understudy::pages {

Json json_of(double number) {
  return std::isfinite(number) ? Json(number) : Json(nullptr);
}

Json events_json(const std::vector<fleet::Event>& events, bool with_nights) {
  Json list = Json::array();
  for (const fleet::Event& event : events) {
    list.push_back({{"night", with_nights ? fmt::format("{}", event.night) : ""},
                    {"kind", event.kind},
                    {"job", event.job},
                    {"text", event.text},
                    {"platform", event.platform}});
  }
  return list;
}

Json json_of(const FleetNight& night) {
  return {{"name", fmt::format("{}", night.night.id)},
          {"date", night.night.opened_utc},
          {"state", night.night.closed_utc.empty() ? "open" : "done"},
          {"jobs", night.night.jobs},
          {"unchanged", night.unchanged},
          {"generated", night.generated},
          {"replayed", night.replayed},
          {"broken", night.broken},
          {"still_broken", night.still_broken},
          {"slower", night.slower},
          {"faster", night.faster},
          {"recovered", night.recovered},
          {"drifted", night.drifted},
          {"turned", night.turned},
          {"unjudged", night.unjudged},
          {"duration_s", json_of(night.duration_s)}};
}

Cell number_cell(double number) {
  return cell_of(std::optional<double>(number));
}

Cell link_cell(const std::string& text, const std::string& href) {
  return text.empty() || href.empty() ? text_cell(text) : Cell(Link{text, href});
}

Cell text_cell(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}

namespace {

/// Texts of a column as links, as far as they have a page.
void link_column(Table& table, const std::string& key,
                 const std::function<std::string(const std::string&)>& href_of) {
  const auto column = std::ranges::find(table.columns, key, &Column::key) - table.columns.begin();
  for (std::vector<Cell>& row : table.rows) {
    Cell& cell = row[static_cast<std::size_t>(column)];
    if (const auto* const text = std::get_if<std::string>(&cell)) {
      cell = link_cell(*text, href_of(*text));
    }
  }
}

}  // namespace

void link_jobs(Table& table, const SiteFrame& frame, const std::string& key) {
  link_column(table, key, [&frame](const std::string& job) {
    return frame.jobs.contains(job) ? job_file(job) : std::string();
  });
}

void link_nights(Table& table, const SiteFrame& frame, const std::string& key) {
  link_column(table, key, [&frame](const std::string& night) {
    const std::int64_t id = std::stoll(night);
    return frame.nights.contains(id) ? night_file(id) : std::string();
  });
}

Cell night_cell(const SiteFrame& frame, std::int64_t night) {
  return link_cell(night == 0 ? "" : fmt::format("{}", night),
                   frame.nights.contains(night) ? night_file(night) : "");
}

Page framed(const SiteFrame& frame, bool is_index) {
  Page page;
  page.subtitle = frame.date;
  if (!is_index) {
    page.above = {{"Fleet " + frame.fleet_name, "index.html"}};
  }
  page.footer = "Understudy " + frame.tool_version;
  return page;
}

std::string source_text(bool is_predicted) {
  return is_predicted ? "prediction" : "replay";
}

Section events_section(const SiteFrame& frame, const Json& data, bool has_nights) {
  std::vector<Column> columns = {texts("job"), verdicts("what", "kind"), texts("platform"),
                                 texts("more", "text")};
  if (has_nights) {
    columns.push_back(texts("night"));
  }
  Table table = table_at(data, "/events", "What happened", std::move(columns));
  link_jobs(table, frame, "job");
  if (has_nights) {
    link_nights(table, frame, "night");
  }
  return {"events",
          "What happened",
          {table.rows.empty() ? Block(Notes{{"Nothing."}}) : Block(std::move(table))}};
}

Markup class_share_bars(const std::map<std::string, double>& shares, const std::string& caption) {
  Bars plot{caption, "%", {"share of the time"}, {}};
  for (const auto& [name, share] : shares) {
    plot.rows.push_back({name, {share * cli::kPercent}});
  }
  std::ranges::stable_sort(plot.rows, [](const BarRow& a, const BarRow& b) {
    return a.values[0].value_or(0) > b.values[0].value_or(0);
  });
  return bars(plot);
}

std::string are(std::uint64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", cli::with_commas(count), noun, count == 1 ? " is" : "s are");
}

std::string change_text(double ratio) {
  return fmt::format("{:.1f} % {}", std::abs(ratio - 1) * cli::kPercent,
                     ratio >= 1 ? "longer" : "shorter");
}

}  // namespace understudy::pages
