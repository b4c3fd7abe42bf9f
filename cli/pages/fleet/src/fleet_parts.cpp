#include "fleet_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/pages/document/table.h"
#include "et_schema/base/content_hash.h"
#include "et_schema/base/figures.h"

namespace understudy::pages {
namespace {

/// Turns the texts of a column into links if they have a page.
void link_column(Table& table, const std::string& key,
                 const std::function<std::string(const std::string&)>& href_of) {
  const auto found = std::ranges::find(table.columns, key, &Column::key);
  if (found == table.columns.end()) {
    return;
  }
  const auto column = static_cast<std::size_t>(found - table.columns.begin());
  for (std::vector<Cell>& row : table.rows) {
    Cell& cell = row[column];
    if (const auto* const text = std::get_if<std::string>(&cell)) {
      cell = link_cell(*text, href_of(*text));
    }
  }
}

/// Reduces a text to letters, digits and "-", at most `most` characters.
std::string plain(const std::string& text, std::size_t most) {
  std::string name;
  for (const char character : text.substr(0, most)) {
    const bool is_plain = (character >= 'a' && character <= 'z') ||
                          (character >= 'A' && character <= 'Z') ||
                          (character >= '0' && character <= '9');
    name += is_plain ? character : '-';
  }
  return name;
}

}  // namespace

Cell link_cell(const std::string& text, const std::string& href) {
  return text.empty() ? Cell() : href.empty() ? Cell(text) : Cell(Link{text, href});
}

void link_jobs(Table& table, const SiteFrame& frame, const std::string& key) {
  link_column(table, key, [&frame](const std::string& job) {
    return frame.jobs.contains(job) ? job_file(job) : std::string();
  });
}

void link_nights(Table& table, const SiteFrame& frame, const std::string& key) {
  link_column(table, key, [&frame](const std::string& night) {
    return frame.nights.contains(night) ? night_file(night) : std::string();
  });
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

Page within_site(Page page, const SiteFrame& frame) {
  page.above = framed(frame).above;
  for (Section& section : page.sections) {
    for (Block& block : section.blocks) {
      if (Table* const table = std::get_if<Table>(&block)) {
        link_jobs(*table, frame, "job");
      }
    }
  }
  return page;
}

Section events_section(const SiteFrame& frame, const Json& document, bool has_nights) {
  std::vector<Column> columns = {texts("job"), verdicts("what", "kind"), texts("platform"),
                                 texts("more", "text")};
  if (has_nights) {
    columns.push_back(texts("night"));
  }
  Table table = table_at(document, "/events", "What happened", std::move(columns));
  link_jobs(table, frame, "job");
  if (has_nights) {
    link_nights(table, frame, "night");
  }
  return {"events",
          "What happened",
          {table.rows.empty() ? Block(Notes{{"Nothing."}}) : Block(std::move(table))}};
}

Table class_share_bars(const Json& document, const std::string& caption) {
  Table table = table_at(document, "/class_share", "",
                         {texts("class", "name"), shares("share of the time", "value")});
  std::ranges::stable_sort(table.rows, std::greater(), [](const std::vector<Cell>& row) {
    const auto* const share = std::get_if<double>(&row[1]);
    return share != nullptr ? *share : 0;
  });
  return drawn(std::move(table), {.caption = caption, .columns = {1}});
}

std::string change_text(double ratio) {
  return fmt::format("{:.1f} % {}", std::abs(ratio - 1) * et_schema::kPercent,
                     ratio >= 1 ? "longer" : "shorter");
}

std::string page_name(const std::string& kind, const std::string& name) {
  constexpr std::size_t kMost = 48;
  constexpr int kUnusedBits = 16;  // twelve digits are enough to separate a fleet's names
  const std::uint64_t hash = et_schema::content_hash(kind + '\0' + name) >> kUnusedBits;
  return fmt::format("{}-{}-{:012x}.html", plain(kind, kMost), plain(name, kMost), hash);
}

std::string job_file(const std::string& job) {
  return page_name("job", job);
}
std::string night_file(const std::string& night) {
  return fmt::format("night-{}.html", night);
}

}  // namespace understudy::pages
