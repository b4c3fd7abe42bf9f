#include "cli/pages/document/table.h"

#include <fmt/format.h>

#include <cmath>

#include "et_schema/base/figures.h"

namespace understudy::pages {
namespace {

constexpr const char* kUnknown = "–";

std::string number_text(double value, CellKind kind) {
  // A number this large is an artefact of its formula; its digits mean nothing.
  constexpr double kHuge = 1e15;
  constexpr double kLarge = 1e3;  // from here on figures have no digits after the point
  if (std::abs(value) >= kHuge) {
    return fmt::format("{:.3e}", value);
  }
  switch (kind) {
    case CellKind::kChange:
      return et_schema::change_text(value);
    case CellKind::kRatio:
      return fmt::format("{:.{}f}", value,
                         std::abs(value) < 10    ? 3
                         : std::abs(value) < 100 ? 1
                                                 : 0);
    case CellKind::kShare:
      return et_schema::share_text(value);
    case CellKind::kPercent:
      return et_schema::percent_text(value);
    case CellKind::kBytes:
      return value >= 0 ? et_schema::with_bytes(static_cast<std::uint64_t>(value))
                        : et_schema::figure_text(value);
    case CellKind::kCount:
      return value >= kLarge || (value >= 0 && value == std::floor(value))
                 ? et_schema::with_commas(static_cast<std::uint64_t>(std::nearbyint(value)))
                 : et_schema::figure_text(value);
    default:
      return et_schema::figure_text(value);
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

Table drawn(Table table, Plot plot) {
  table.shown = 0;
  table.shown_in_text = 0;
  table.plots.push_back(std::move(plot));
  return table;
}

std::string address_of(const Link& link) {
  // Only characters that cannot form a scheme or a host in a relative address.
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/#%";
  std::string address = link.href.starts_with('/') ? "." : "";
  for (const char character : link.href) {
    address += kPlain.find(character) != std::string_view::npos
                   ? std::string(1, character)
                   : fmt::format("%{:02X}", static_cast<unsigned char>(character));
  }
  return address;
}

std::string fact_text(const Fact& fact) {
  const std::string shown = cell_text(fact.value, fact.kind);
  const bool is_known = !std::holds_alternative<std::monostate>(fact.value);
  return fact.unit.empty() || !is_known ? shown : shown + " " + fact.unit;
}

Cell cell_of(const std::optional<double>& number) {
  // + 0.0 turns −0 into 0.
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
      return kind == CellKind::kBytes ? et_schema::with_bytes(value)
             : kind == CellKind::kId  ? std::to_string(value)
                                      : et_schema::with_commas(value);
    }
  };
  return std::visit(Visitor{kind}, cell);
}

}  // namespace understudy::pages
