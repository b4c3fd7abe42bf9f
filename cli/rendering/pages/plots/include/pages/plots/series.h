#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pages/html/markup.h"
#include "pages/html/page.h"

namespace understudy::pages {

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
