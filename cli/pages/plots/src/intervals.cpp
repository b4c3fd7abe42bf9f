#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/common/figures.h"
#include "cli/pages/plots/plots.h"
#include "drawing.h"

namespace understudy::pages {
namespace {

constexpr double kLeft = 230;
constexpr double kNoteLetter = 7.5;  // a letter's width, at most about
constexpr std::size_t kNameLength = 32;
constexpr double kRight = kWidth - 12 - kNoteLetter * kNameLength;
constexpr double kTop = 4;
constexpr double kRow = 24;
constexpr double kFoot = 24;

bool is_drawn(const IntervalRow& row) {
  return std::isfinite(row.value) && std::isfinite(row.low) && std::isfinite(row.high);
}

/// Values decide what is shown; an interval counts as far as it is not much wider than they are
/// apart, so that one that says nothing does not squeeze the others.
Axis axis_of(const std::vector<IntervalRow>& rows, const std::optional<double>& reference) {
  double low = reference.value_or(rows.front().value);
  double high = low;
  for (const IntervalRow& row : rows) {
    low = std::min(low, row.value);
    high = std::max(high, row.value);
  }
  constexpr double kLeastRoom = 0.02;
  const double room = std::max(high - low, kLeastRoom * std::max(std::abs(high), std::abs(low)));
  double lowest = low;
  double highest = high;
  for (const IntervalRow& row : rows) {
    lowest = std::min(lowest, std::max(row.low, low - room));
    highest = std::max(highest, std::min(row.high, high + room));
  }
  return {lowest, highest, kLeft, kRight};
}

Markup row_markup(const IntervalRow& row, double y, const Axis& axis, const std::string& unit) {
  const std::string tone(tone_class(row.tone));
  const double left = std::max(axis.at(row.low), kLeft);
  const double right = std::min(axis.at(row.high), kRight);
  Markup shape = line(left, y, right, y, "whisker s" + tone);
  const auto arrow = [&](double x, double from) {
    return line(x, y, from, y - 4, "whisker s" + tone) +
           line(x, y, from, y + 4, "whisker s" + tone);
  };
  if (axis.at(row.low) < kLeft) {
    shape += arrow(kLeft, kLeft + 6);
  }
  if (axis.at(row.high) > kRight) {
    shape += arrow(kRight, kRight - 6);
  }
  shape += rectangle(axis.at(row.value) - 3, y - 6, 6, 12, "f" + tone);
  return label(kLeft - 12, y + 4, "end", shortened(row.name, kNameLength)) +
         titled(shape, fmt::format("{}: {} ({} … {}) {}", row.name, cli::figure_text(row.value),
                                   cli::figure_text(row.low), cli::figure_text(row.high), unit)) +
         label(kRight + 12, y + 4, "soft", shortened(row.note, kNameLength));
}

}  // namespace

Markup intervals(const Intervals& plot) {
  std::vector<IntervalRow> rows;
  std::ranges::copy_if(plot.rows, std::back_inserter(rows), is_drawn);
  if (rows.empty()) {
    return {};
  }
  const Axis axis = axis_of(rows, plot.reference);
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  Markup drawing = horizontal_axis(axis, kTop, bottom, plot.unit);
  if (plot.reference) {
    drawing += line(axis.at(*plot.reference), kTop, axis.at(*plot.reference), bottom, "ref");
  }
  std::string description = plot.caption;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    drawing += row_markup(rows[i], kTop + kRow * (static_cast<double>(i) + 0.5), axis, plot.unit);
    description += fmt::format(" {}: {} ({} to {}).", rows[i].name, cli::figure_text(rows[i].value),
                               cli::figure_text(rows[i].low), cli::figure_text(rows[i].high));
  }
  return figure(bottom + kFoot, drawing, {}, plot.caption, description);
}

}  // namespace understudy::pages
