#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/pages/html/markup.h"
#include "cli/pages/html/page.h"

namespace understudy::pages {

/// Width of every drawing, in its own units; a browser fits it to the page.
inline constexpr double kWidth = 900;

/// Numbers along a line of the drawing.
class Axis {
 public:
  /// From `low` to `high`, rounded outwards to ticks, drawn from `from` to `to`.
  Axis(double low, double high, double from, double to);

  [[nodiscard]] double at(double value) const;
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] const std::vector<double>& ticks() const { return ticks_; }
  /// A tick's number, with as many digits as tell ticks apart.
  [[nodiscard]] std::string text(double tick) const;

 private:
  double low_, high_, from_, to_, step_;
  std::vector<double> ticks_;
};

/// A coordinate, to a tenth of a unit.
[[nodiscard]] std::string coordinate(double value);

[[nodiscard]] Markup line(double x1, double y1, double x2, double y2, std::string classes);
[[nodiscard]] Markup rectangle(double x, double y, double width, double height,
                               std::string classes);
[[nodiscard]] Markup label(double x, double y, std::string classes, std::string_view text);
/// With a text that shows when the mouse rests on it.
[[nodiscard]] Markup titled(const Markup& shape, std::string_view title);

/// Ticks below the drawing, with lines through it.
[[nodiscard]] Markup horizontal_axis(const Axis& axis, double top, double bottom,
                                     std::string_view unit);

/// The whole figure. `description` is read to whoever does not see it.
[[nodiscard]] Markup figure(double height, const Markup& drawing, const Markup& legend,
                            std::string_view caption, std::string_view description);

/// Names of the series beside their colours; nothing for fewer than two.
[[nodiscard]] Markup legend_of(const std::vector<std::string>& names);

/// "f3", "s3": the fill and the stroke of a series, by its place.
[[nodiscard]] std::string fill_class(std::size_t series);
[[nodiscard]] std::string stroke_class(std::size_t series);
/// "bad", "good", "attention", "neutral".
[[nodiscard]] std::string_view tone_class(Tone tone);

/// A text of at most so many characters, the end replaced by "…".
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

}  // namespace understudy::pages
