#include "cli/pages/html/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/common/figures.h"
#include "et_schema/base/enum_names.h"

namespace understudy::pages {
namespace {

using Json = nlohmann::ordered_json;

/// A person sees the order of fewer rows at a glance.
constexpr std::size_t kLeastSortedRows = 4;

constexpr et_schema::EnumNames<CellKind::kBytes> kKindNames("text", "verdict", "figure", "change",
                                                            "ratio", "share", "percent", "count",
                                                            "id", "bytes");

bool is_word(CellKind kind) {
  return kind == CellKind::kText || kind == CellKind::kVerdict;
}

/// A relative address: nothing in it can be taken for a scheme or a host.
std::string address_of(const std::string& href) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/#%";
  std::string address = href.starts_with('/') ? "." : "";
  for (const char character : href) {
    address += kPlain.find(character) != std::string_view::npos
                   ? std::string(1, character)
                   : fmt::format("%{:02X}", static_cast<unsigned char>(character));
  }
  return address;
}

/// "SLOWER (noise)" → "v-slower".
std::string verdict_class(const std::string& verdict) {
  std::string name = "v-";
  for (const char character : verdict) {
    const bool is_upper = character >= 'A' && character <= 'Z';
    if (!is_upper && !(character >= 'a' && character <= 'z')) {
      break;
    }
    name += is_upper ? static_cast<char>(character - 'A' + 'a') : character;
  }
  return name;
}

Markup content_of(const Cell& cell, CellKind kind) {
  if (const auto* const link = std::get_if<Link>(&cell)) {
    return link_markup(*link);
  }
  const std::string shown = cell_text(cell, kind);
  return kind == CellKind::kVerdict && std::holds_alternative<std::string>(cell)
             ? element("span", {{"class", verdict_class(shown)}}, shown)
             : text(shown);
}

Markup row_markup(const Table& table, const std::vector<Cell>& row) {
  Markup cells;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const CellKind kind = table.columns[i].kind;
    const Markup content = content_of(row[i], kind);
    if (i == 0) {
      cells += element("th", {{"scope", "row"}}, content);
    } else if (is_word(kind)) {
      cells += element("td", {}, content);
    } else {
      cells += element("td", {{"class", "n"}}, content);
    }
  }
  return element("tr", {}, cells) + text("\n");
}

Markup head_markup(const Table& table) {
  Markup cells;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    const bool is_left = i == 0 || is_word(column.kind);
    cells += element("th",
                     {{"scope", "col"},
                      {"class", is_left ? "" : "n"},
                      {"title", column.hint},
                      {"data-key", column.key}},
                     column.title);
  }
  return element("thead", {}, element("tr", {}, cells));
}

bool is_one_list(const std::string& at) {
  return at.find('*') == std::string::npos;
}

Json json_of(const Cell& cell) {
  struct Visitor {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(const std::string& text) const { return text; }
    Json operator()(const Link& link) const { return {link.text, address_of(link.href)}; }
    Json operator()(double value) const { return value; }
    Json operator()(std::uint64_t value) const { return value; }
  };
  return std::visit(Visitor{}, cell);
}

/// What page.js sorts, searches and turns the pages of.
Markup rows_block(const Table& table) {
  Json kinds = Json::array();
  for (const Column& column : table.columns) {
    kinds.push_back(kKindNames[column.kind]);
  }
  Json rows = Json::array();
  for (const std::vector<Cell>& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) {
      cells.push_back(json_of(cell));
    }
    rows.push_back(std::move(cells));
  }
  const Json block = {{"shown", table.shown}, {"kinds", kinds}, {"rows", std::move(rows)}};
  return json_block(table.id + "-rows", block.dump(-1, ' ', false, Json::error_handler_t::replace));
}

constexpr const char* kUnknown = "–";

std::string number_text(double value, CellKind kind) {
  // So large a number is a limit of its formula; its digits say nothing.
  constexpr double kHuge = 1e15;
  if (std::abs(value) >= kHuge) {
    return fmt::format("{:.3e}", value);
  }
  switch (kind) {
    case CellKind::kChange:
      return (std::signbit(value) ? "" : "+") + cli::figure_text(value);
    case CellKind::kRatio:
      return fmt::format("{:.{}f}", value,
                         std::abs(value) < 10    ? 3
                         : std::abs(value) < 100 ? 1
                                                 : 0);
    case CellKind::kShare:
      return cli::share_text(value);
    case CellKind::kPercent:
      return cli::percent_text(value);
    case CellKind::kBytes:
      return value >= 0 ? cli::with_bytes(static_cast<std::uint64_t>(value))
                        : cli::figure_text(value);
    case CellKind::kCount:
      return value >= 0 && value == std::floor(value)
                 ? cli::with_commas(static_cast<std::uint64_t>(value))
                 : cli::figure_text(value);
    default:
      return cli::figure_text(value);
  }
}

}  // namespace

Column column_of(CellKind kind, std::string title, std::string key, std::string hint,
                 double scale) {
  if (key.empty()) {
    key = title;
  }
  return {std::move(title), kind, std::move(key), std::move(hint), scale};
}

Column summed(Column column) {
  column.is_sum = true;
  return column;
}
Column shortened(Column column, std::size_t most_in_text) {
  column.most_in_text = most_in_text;
  return column;
}

Markup link_markup(const Link& link) {
  return element("a", {{"href", address_of(link.href)}}, link.text);
}

Markup table_markup(const Table& table) {
  if (table.rows.empty()) {
    return {};
  }
  const std::size_t shown = std::min(table.shown, table.rows.size());
  Markup body;
  for (std::size_t i = 0; i < shown; ++i) {
    body += row_markup(table, table.rows[i]);
  }
  const std::string caption_id = table.id + "-caption";
  const Markup whole =
      element("table", {{"id", table.id}, {"data-at", is_one_list(table.at) ? table.at : ""}},
              element("caption", {{"id", caption_id}}, table.caption) + head_markup(table) +
                  element("tbody", {}, body));
  Markup markup = element(
      "div",
      {{"class", "table"}, {"role", "region"}, {"tabindex", "0"}, {"aria-labelledby", caption_id}},
      whole);
  if (shown < table.rows.size()) {
    markup += element("p", {{"class", "more"}, {"id", table.id + "-more"}},
                      fmt::format("{} of {} rows", shown, table.rows.size()));
  }
  if (table.rows.size() >= kLeastSortedRows) {
    markup += rows_block(table);
  }
  return markup;
}

std::string fact_text(const Fact& fact) {
  const std::string shown = cell_text(fact.value, fact.kind);
  const bool is_known = !std::holds_alternative<std::monostate>(fact.value);
  return fact.unit.empty() || !is_known ? shown : shown + " " + fact.unit;
}

Markup fact_value(const Fact& fact) {
  if (const auto* const link = std::get_if<Link>(&fact.value)) {
    return link_markup(*link);
  }
  const bool is_figure = std::holds_alternative<double>(fact.value) ||
                         std::holds_alternative<std::uint64_t>(fact.value);
  if (fact.at.empty() || !is_figure) {
    return text(fact_text(fact));
  }
  const Markup figure =
      figure_at(fact.at, json_of(fact.value).dump(), cell_text(fact.value, fact.kind));
  return fact.unit.empty() ? figure : figure + text(" " + fact.unit);
}

Markup facts_markup(const Facts& facts) {
  Markup list;
  for (const Fact& fact : facts) {
    const Markup value = fact_value(fact);
    if (!value.empty()) {
      list += element("div", {}, element("dt", {}, fact.name) + element("dd", {}, value));
    }
  }
  return list.empty() ? list : element("dl", {{"class", "facts"}}, list);
}

Cell cell_of(const std::optional<double>& number) {
  // + 0.0: a zero has no sign.
  return number && std::isfinite(*number) ? Cell(*number + 0.0) : Cell();
}

Cell cell_of(const std::optional<std::uint64_t>& number) {
  return number ? Cell(*number) : Cell();
}

std::string cell_text(const Cell& cell, CellKind kind) {
  struct Visitor {
    CellKind kind;
    std::string operator()(std::monostate) const { return kUnknown; }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const Link& link) const { return link.text; }
    std::string operator()(double value) const {
      return std::isfinite(value) ? number_text(value, kind) : kUnknown;
    }
    std::string operator()(std::uint64_t value) const {
      return kind == CellKind::kBytes ? cli::with_bytes(value)
             : kind == CellKind::kId  ? std::to_string(value)
                                      : cli::with_commas(value);
    }
  };
  return std::visit(Visitor{kind}, cell);
}

}  // namespace understudy::pages
