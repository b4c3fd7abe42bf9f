#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/common/json_csv.h"
#include "cli/pages/document/page.h"
#include "et_schema/base/enum_names.h"

namespace understudy::pages {
namespace {

using Json = nlohmann::ordered_json;

constexpr et_schema::EnumNames<CellKind::kBytes> kKindNames("text", "verdict", "figure", "change",
                                                            "ratio", "share", "percent", "count",
                                                            "id", "bytes");
constexpr et_schema::EnumNames<Tone::kNeutral> kToneNames("good", "attention", "bad", "neutral");
constexpr et_schema::EnumNames<Draw::kScatter> kDrawNames("distribution", "interval", "bar",
                                                          "series", "scatter");

/// Whole numbers are written without ".0", which halves their length.
Json json_of(double value) {
  constexpr double kMostWhole = 1e15;
  return std::abs(value) < kMostWhole && value == std::floor(value)
             ? Json(static_cast<std::int64_t>(value))
             : Json(value);
}

Json json_of(const Cell& cell) {
  struct Visitor {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(const std::string& text) const { return text; }
    Json operator()(const Link& link) const { return {link.text, address_of(link)}; }
    Json operator()(double value) const { return pages::json_of(value); }
    Json operator()(std::uint64_t value) const { return value; }
  };
  return std::visit(Visitor{}, cell);
}

Json json_of(const Fact& fact) {
  return {{"name", fact.name},
          {"value", json_of(fact.value)},
          {"hint", kKindNames[fact.kind]},
          {"unit", fact.unit},
          {"at", fact.at}};
}

Json json_of(const Facts& facts) {
  Json list = Json::array();
  for (const Fact& fact : facts) {
    if (!fact_text(fact).empty()) {
      list.push_back(json_of(fact));
    }
  }
  return list.empty() ? Json() : Json{{"facts", std::move(list)}};
}

template <typename Value>
Json known(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const Plot& plot) {
  Json limits = Json::array();
  for (const Limit& limit : plot.limits) {
    limits.push_back({{"name", limit.name}, {"at", limit.at}, {"rises", limit.rises}});
  }
  return {{"hint", kDrawNames[plot.draw]}, {"caption", plot.caption},
          {"columns", plot.columns},       {"unit", plot.unit},
          {"bounds", plot.bounds},         {"from_zero", plot.from_zero},
          {"words", known(plot.words)},    {"reference", known(plot.reference)},
          {"band", known(plot.band)},      {"limits", std::move(limits)}};
}

Json json_of(const Table& table) {
  if (table.rows.empty()) {
    return nullptr;
  }
  Json columns = Json::array();
  for (const Column& column : table.columns) {
    columns.push_back({{"key", column.key},
                       {"title", column.title},
                       {"hint", kKindNames[column.kind]},
                       {"meaning", column.hint}});
  }
  Json rows = Json::array();
  for (const std::vector<Cell>& row : table.rows) {
    Json& cells = rows.emplace_back(Json::array());
    for (const Cell& cell : row) {
      cells.push_back(json_of(cell));
    }
  }
  Json plots = Json::array();
  for (const Plot& plot : table.plots) {
    plots.push_back(json_of(plot));
  }
  const bool is_one_list = table.at.find('*') == std::string::npos;
  return {{"table",
           {{"id", table.id},
            {"caption", table.caption},
            {"at", is_one_list ? table.at : ""},
            {"shown", table.shown},
            {"plots", std::move(plots)},
            {"columns", std::move(columns)},
            {"rows", std::move(rows)}}}};
}

Json json_of(const Notes& notes) {
  return notes.texts.empty() ? Json() : Json{{"notes", notes.texts}};
}

/// Equal events are told once: each lane lists numbers of events, sorted by start. An event has
/// four figures: the time since the end of the event before it, duration, name, kind.
Json json_of(const Timeline& plot) {
  using Told = std::array<std::int64_t, 4>;
  Json lanes = Json::array();
  std::map<Told, std::size_t> numbers_of;
  std::vector<std::int64_t> told;
  for (const TimelineLane& lane : plot.lanes) {
    std::vector<TimelineEvent> events = lane.events;
    std::ranges::stable_sort(events, {}, &TimelineEvent::start_ns);
    std::vector<std::size_t> numbers;
    std::int64_t end_ns = 0;
    for (const TimelineEvent& event : events) {
      const Told one = {event.start_ns - end_ns, event.duration_ns,
                        static_cast<std::int64_t>(event.name),
                        static_cast<std::int64_t>(event.kind)};
      const auto [found, is_new] = numbers_of.try_emplace(one, numbers_of.size());
      if (is_new) {
        told.insert(told.end(), one.begin(), one.end());
      }
      numbers.push_back(found->second);
      end_ns = event.start_ns + event.duration_ns;
    }
    lanes.push_back({{"group", lane.group}, {"name", lane.name}, {"events", std::move(numbers)}});
  }
  return told.empty()
             ? Json()
             : Json{
                   {"lanes", std::move(lanes)}, {"events", std::move(told)}, {"id", plot.id},
                   {"caption", plot.caption},   {"names", plot.names},       {"kinds", plot.kinds}};
}

/// A section without content is left out.
Json json_of(const std::vector<Section>& sections) {
  Json list = Json::array();
  for (const Section& section : sections) {
    Json blocks = Json::array();
    for (const Block& block : section.blocks) {
      Json json = std::visit([](const auto& of) { return json_of(of); }, block);
      if (!json.is_null()) {
        blocks.push_back(std::move(json));
      }
    }
    if (!blocks.empty()) {
      list.push_back({{"id", section.id}, {"title", section.title}, {"blocks", std::move(blocks)}});
    }
  }
  return list;
}

/// Removes the members of this key from the objects that are `depth` levels below.
void erase_below(Json& json, int depth, const std::string& key) {
  if (depth > 0) {
    for (Json& below : json) {
      erase_below(below, depth - 1, key);
    }
  } else if (json.is_object()) {
    json.erase(key);
  }
}

/// Returns the data on one line, without what the page does not show.
std::string shown_data(const Page& page) {
  Json data = page.data.empty() ? Json() : Json::parse(page.data);
  for (const auto& [depth, key] : page.unseen) {
    erase_below(data, depth - 1, key);
  }
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns JSON for a <script>, escaped so that no text in it can end the element.
std::string embedded(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char character : json) {
    switch (character) {
      case '<':
        text += "\\u003c";
        break;
      case '>':
        text += "\\u003e";
        break;
      case '&':
        text += "\\u0026";
        break;
      default:
        text += character;
    }
  }
  return text;
}

}  // namespace

std::string to_page_json(const Page& page) {
  Json above = Json::array();
  for (const Link& link : page.above) {
    above.push_back(json_of(Cell(link)));
  }
  Json figures = Json::array();
  for (const KeyFigure& figure : page.figures) {
    figures.push_back(json_of(figure.figure));
    figures.back()["note"] = figure.note;
  }
  const Json json = {{"title", page.title},
                     {"subtitle", page.subtitle},
                     {"above", std::move(above)},
                     {"tone", kToneNames[page.verdict.tone]},
                     {"verdict", page.verdict.sentence},
                     {"findings", page.verdict.findings},
                     {"figures", std::move(figures)},
                     {"sections", json_of(page.sections)},
                     {"data_name", page.data_name},
                     {"footer", page.footer}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_html(const Page& page) {
  const std::size_t at_page = kPageTemplate.find("@PAGE@");
  const std::size_t at_data = kPageTemplate.find("@DATA@");
  constexpr std::size_t kMark = 6;
  std::string html(kPageTemplate.substr(0, at_page));
  html += embedded(to_page_json(page));
  html += kPageTemplate.substr(at_page + kMark, at_data - at_page - kMark);
  html += embedded(shown_data(page));
  html += kPageTemplate.substr(at_data + kMark);
  return html;
}

std::string written(const Page& page, cli::Format format) {
  switch (format) {
    case cli::Format::kJson:
      return page.data;
    case cli::Format::kCsv:
      return cli::json_to_csv(nlohmann::ordered_json::parse(page.data));
    case cli::Format::kHtml:
      return to_html(page);
    case cli::Format::kText:
      break;
  }
  return to_text(page);
}

}  // namespace understudy::pages
