#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/pages/html/markup.h"
#include "cli/pages/html/page.h"

namespace understudy::pages {

// Each is a <figure>: an SVG with a title and a description for screen readers, a legend where it
// has several series, a caption. Nothing where there is nothing to draw. Colours follow the series'
// place. What is not finite is left out.

struct Samples {
  std::string name;
  std::vector<double> values;
  std::optional<double> low, high;  ///< an interval of the median, shown as a band
};

/// How often which value occurred. Samples far from the others (above the third quartile by more
/// than six times the distance of the quartiles, or as far below the first) are not drawn; the
/// caption says how many.
struct Histogram {
  std::string caption;
  std::string unit;
  std::vector<Samples> series;
};
[[nodiscard]] Markup histogram(const Histogram& plot);

struct BarRow {
  std::string name;
  std::vector<std::optional<double>> values;  ///< one a series; absent: not known
};

/// Rows of horizontal bars from zero, a bar a series.
struct Bars {
  std::string caption;
  std::string unit;
  std::vector<std::string> series;
  std::vector<BarRow> rows;
};
[[nodiscard]] Markup bars(const Bars& plot);

struct IntervalRow {
  std::string name;
  double value = 0;
  double low = 0;
  double high = 0;
  Tone tone = Tone::kNeutral;
  std::string note = {};  ///< behind the row: "1.093 SLOWER"
};

/// A value and an interval a row, above one axis. Intervals that leave the axis end in an arrow.
struct Intervals {
  std::string caption;
  std::string unit;
  std::optional<double> reference = {};  ///< a dashed line: 1 for ratios
  std::vector<IntervalRow> rows = {};
};
[[nodiscard]] Markup intervals(const Intervals& plot);

struct SeriesLine {
  std::string name;
  std::vector<std::optional<double>> values;  ///< one a place; absent: a gap in the line
  bool is_bound = false;                      ///< of an interval around another line: drawn thin
};

/// A place where something changed.
struct SeriesMark {
  std::size_t place = 0;
  std::string text;
  Tone tone = Tone::kNeutral;
};

/// Values over their places (iterations, instructions, nights). Drawn as SVG with, for each column
/// of pixels, the lowest and the highest value in it; series.js zooms into it and reads single
/// values, with the mouse or the keyboard.
struct Series {
  std::string id;  ///< no other of the page has it
  std::string caption;
  std::string unit;                      ///< of the values; "bytes" are shown as such
  std::string place;                     ///< what a place is: "iteration"
  std::vector<std::string> places = {};  ///< names of the places; without: their numbers from 0
  std::vector<SeriesLine> lines = {};    ///< of one length
  std::vector<SeriesMark> marks = {};
  bool from_zero = true;  ///< the axis starts at 0
};
[[nodiscard]] Markup series(const Series& plot);

}  // namespace understudy::pages
