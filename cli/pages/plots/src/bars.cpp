#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/common/figures.h"
#include "cli/pages/plots/plots.h"
#include "drawing.h"

namespace understudy::pages {
namespace {

constexpr double kLeft = 190;
constexpr double kRight = kWidth - 110;
constexpr double kTop = 4;
constexpr double kBar = 13;
constexpr double kGap = 9;
constexpr double kFoot = 24;
constexpr std::size_t kNameLength = 26;

Markup row_markup(const Bars& plot, const BarRow& row, double top, const Axis& axis) {
  const double middle = top + kBar * static_cast<double>(row.values.size()) / 2 + 5;
  Markup markup = label(kLeft - 8, middle, "end", shortened(row.name, kNameLength));
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    const double y = top + kBar * static_cast<double>(i);
    const std::optional<double>& value = row.values[i];
    const bool is_known = value && std::isfinite(*value);
    const std::string figure = is_known ? cli::figure_text(value) + " " + plot.unit : "not known";
    const double end = is_known ? axis.at(std::max(0.0, *value)) : kLeft;
    markup += titled(rectangle(kLeft, y, end - kLeft, kBar - 2, fill_class(i)),
                     fmt::format("{}, {}: {}", row.name, plot.series[i], figure));
    markup += label(end + 5, y + kBar - 3, "soft", figure);
  }
  return markup;
}

std::string description_of(const Bars& plot) {
  std::string description = plot.caption;
  for (const BarRow& row : plot.rows) {
    description += fmt::format(" {}:", row.name);
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      description += fmt::format(" {} {}{}", plot.series[i], cli::figure_text(row.values[i]),
                                 i + 1 == row.values.size() ? "." : ",");
    }
  }
  return description;
}

}  // namespace

Markup bars(const Bars& plot) {
  double most = 0;
  for (const BarRow& row : plot.rows) {
    for (const std::optional<double>& value : row.values) {
      most = value && std::isfinite(*value) ? std::max(most, *value) : most;
    }
  }
  if (plot.rows.empty() || most <= 0) {
    return {};
  }
  const Axis axis(0, most, kLeft, kRight);
  const double row_height = kBar * static_cast<double>(plot.series.size()) + kGap;
  const double bottom = kTop + row_height * static_cast<double>(plot.rows.size());
  Markup drawing = horizontal_axis(axis, kTop, bottom, plot.unit);
  for (std::size_t i = 0; i < plot.rows.size(); ++i) {
    drawing += row_markup(plot, plot.rows[i], kTop + row_height * static_cast<double>(i), axis);
  }
  return figure(bottom + kFoot, drawing, legend_of(plot.series), plot.caption,
                description_of(plot));
}

}  // namespace understudy::pages
