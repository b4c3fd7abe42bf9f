#include <fmt/format.h>

#include <cmath>

#include "common/figures.h"
#include "pages/html/table.h"

namespace understudy::pages {
namespace {

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
