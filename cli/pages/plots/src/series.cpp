#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/common/figures.h"
#include "cli/pages/plots/plots.h"
#include "drawing.h"

namespace understudy::pages {
namespace {

using Json = nlohmann::ordered_json;
using Values = std::vector<std::optional<double>>;

constexpr double kLeft = 84;
constexpr double kRight = kWidth - 12;
constexpr double kTop = 8;
constexpr double kBottom = 210;
constexpr double kHeight = 252;

std::string value_text(double value, const std::string& unit) {
  if (unit == "bytes" && value >= 0) {
    return cli::with_bytes(static_cast<std::uint64_t>(value));
  }
  return fmt::format("{} {}", cli::figure_text(value), unit);
}

std::string place_text(const Series& plot, std::size_t place) {
  return place < plot.places.size() ? plot.places[place] : fmt::format("{}", place);
}

std::size_t places_of(const Series& plot) {
  std::size_t most = 0;
  for (const SeriesLine& row : plot.lines) {
    most = std::max(most, row.values.size());
  }
  return most;
}

std::vector<double> known_of(const Values& values) {
  std::vector<double> known;
  for (const std::optional<double>& value : values) {
    if (value && std::isfinite(*value)) {
      known.push_back(*value);
    }
  }
  return known;
}

/// The known values of all lines.
std::vector<double> known_of(const Series& plot) {
  std::vector<double> all;
  for (const SeriesLine& row : plot.lines) {
    std::ranges::copy(known_of(row.values), std::back_inserter(all));
  }
  return all;
}

/// What the axis counts in: bytes have round numbers of their own.
double one_of(const Series& plot, double most) {
  constexpr double kStep = 1024;
  return plot.unit == "bytes" ? std::pow(kStep, std::floor(std::log2(std::max(most, 1.0)) / 10))
                              : 1;
}

double x_of(std::size_t place, std::size_t places) {
  return places < 2 ? (kLeft + kRight) / 2
                    : kLeft + (kRight - kLeft) * static_cast<double>(place) /
                                  static_cast<double>(places - 1);
}

/// A line through all values or, where there are more than columns of pixels, a stroke in each
/// column from its lowest to its highest.
std::string path_of(const Values& values, const Axis& axis, double one) {
  constexpr std::size_t kColumns = 800;
  const std::size_t places = values.size();
  const std::size_t step = places <= 2 * kColumns ? 1 : (places + kColumns - 1) / kColumns;
  std::string path;
  bool is_open = false;
  for (std::size_t first = 0; first < places; first += step) {
    double low = HUGE_VAL;
    double high = -HUGE_VAL;
    for (std::size_t i = first; i < std::min(first + step, places); ++i) {
      if (values[i] && std::isfinite(*values[i])) {
        low = std::min(low, *values[i]);
        high = std::max(high, *values[i]);
      }
    }
    if (low > high) {
      is_open = false;
      continue;
    }
    path += fmt::format("{}{} {}", is_open ? 'L' : 'M', coordinate(x_of(first, places)),
                        coordinate(axis.at(low / one)));
    if (high > low) {
      path += fmt::format("V{}", coordinate(axis.at(high / one)));
    }
    is_open = true;
  }
  return path;
}

Markup points_of(const SeriesLine& row, std::size_t series, const Axis& axis, double one) {
  constexpr std::size_t kMostPoints = 120;
  if (row.values.size() > kMostPoints) {
    return {};
  }
  Markup points;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    if (row.values[i] && std::isfinite(*row.values[i])) {
      points += element("circle", {{"cx", coordinate(x_of(i, row.values.size()))},
                                   {"cy", coordinate(axis.at(*row.values[i] / one))},
                                   {"r", "2.5"},
                                   {"class", fill_class(series)}});
    }
  }
  return points;
}

Markup marks_of(const Series& plot, std::size_t places) {
  Markup marks;
  for (const SeriesMark& mark : plot.marks) {
    if (mark.place >= places) {
      continue;
    }
    const double x = x_of(mark.place, places);
    const std::string tone(tone_class(mark.tone));
    const bool is_left = x < kWidth / 2;
    marks += titled(line(x, kTop, x, kBottom, "whisker s" + tone),
                    fmt::format("{}: {}", place_text(plot, mark.place), mark.text)) +
             label(is_left ? x + 5 : x - 5, kTop + 10, is_left ? "f" + tone : "end f" + tone,
                   shortened(mark.text, 60));
  }
  return marks;
}

Markup axes_of(const Series& plot, const Axis& axis, double one, std::size_t places) {
  Markup markup;
  for (const double tick : axis.ticks()) {
    const double y = axis.at(tick);
    markup += line(kLeft, y, kRight, y, "axis");
    markup += label(kLeft - 6, y + 4, "soft end",
                    plot.unit == "bytes" ? value_text(tick * one, plot.unit) : axis.text(tick));
  }
  if (plot.unit != "bytes") {
    markup += label(4, kTop + 6, "soft", plot.unit);
  }
  constexpr std::size_t kPlaces = 4;
  std::size_t last = places;
  for (std::size_t i = 0; i <= kPlaces; ++i) {
    const std::size_t place = (places - 1) * i / kPlaces;
    if (place != last) {
      const char* const align = i == 0 ? "soft" : i == kPlaces ? "soft end" : "soft mid";
      markup +=
          label(x_of(place, places), kBottom + 18, align, shortened(place_text(plot, place), 16));
    }
    last = place;
  }
  return markup + label((kLeft + kRight) / 2, kBottom + 36, "soft mid", plot.place);
}

Json data_of(const Series& plot) {
  Json lines = Json::array();
  for (const SeriesLine& row : plot.lines) {
    Json values = Json::array();
    for (const std::optional<double>& value : row.values) {
      const bool is_known = value && std::isfinite(*value);
      // A whole number without ".0": half as long.
      const bool is_whole = is_known && std::abs(*value) < 1e15 && *value == std::floor(*value);
      values.push_back(is_whole   ? Json(static_cast<std::int64_t>(*value))
                       : is_known ? Json(*value)
                                  : Json(nullptr));
    }
    lines.push_back({{"name", row.name}, {"bound", row.is_bound}, {"values", std::move(values)}});
  }
  Json marks = Json::array();
  for (const SeriesMark& mark : plot.marks) {
    marks.push_back({{"place", mark.place}, {"text", mark.text}, {"tone", tone_class(mark.tone)}});
  }
  return {{"unit", plot.unit},          {"place", plot.place},       {"places", plot.places},
          {"fromZero", plot.from_zero}, {"lines", std::move(lines)}, {"marks", std::move(marks)}};
}

std::string description_of(const Series& plot) {
  std::string description = plot.caption;
  for (const SeriesLine& row : plot.lines) {
    const std::vector<double> known = known_of(row.values);
    if (!known.empty()) {
      const auto [least, most] = std::ranges::minmax(known);
      description += fmt::format(" {}: {} values from {} to {}.", row.name, known.size(),
                                 value_text(least, plot.unit), value_text(most, plot.unit));
    }
  }
  for (const SeriesMark& mark : plot.marks) {
    description += fmt::format(" {}: {}.", place_text(plot, mark.place), mark.text);
  }
  return description;
}

}  // namespace

Markup series(const Series& plot) {
  const std::vector<double> known = known_of(plot);
  if (known.empty()) {
    return {};
  }
  const std::size_t places = places_of(plot);
  const auto [low, high] = std::ranges::minmax(known);
  const double one = one_of(plot, high);
  const Axis axis((plot.from_zero ? std::min(0.0, low) : low) / one, high / one, kBottom, kTop);
  Markup drawing = axes_of(plot, axis, one, places);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const SeriesLine& row = plot.lines[i];
    const std::string classes = row.is_bound ? "line bound" : "line " + stroke_class(i);
    drawing += element("path", {{"d", path_of(row.values, axis, one)}, {"class", classes}});
    drawing += row.is_bound ? Markup() : points_of(row, i, axis, one);
    if (!row.is_bound) {
      names.push_back(row.name);
    }
  }
  drawing += marks_of(plot, places);
  return element("div", {{"class", "series"}, {"id", plot.id}},
                 figure(kHeight, drawing, legend_of(names), plot.caption, description_of(plot))) +
         json_block(plot.id + "-series",
                    data_of(plot).dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace understudy::pages
