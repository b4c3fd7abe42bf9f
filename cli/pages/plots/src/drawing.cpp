#include "drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "et_schema/base/enum_names.h"

namespace understudy::pages {
namespace {

constexpr double kTicks = 6;
constexpr std::size_t kColours = 10;
constexpr double kTextHeight = 13;

/// 1, 2 or 5 times a power of ten: the least that makes at most kTicks steps.
double nice_step(double span) {
  const double least = span / kTicks;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least) {
      return factor * power;
    }
  }
  return 10 * power;
}

}  // namespace

Axis::Axis(double low, double high, double from, double to) : from_(from), to_(to) {
  // All values alike still take some room.
  if (!(high > low)) {
    const double room = low == 0 ? 1 : std::abs(low) / 10;
    low = low == 0 ? 0 : low - room;
    high += room;
  }
  step_ = nice_step(high - low);
  const double first = std::floor(low / step_);
  const double last = std::ceil(high / step_);
  for (double tick = first; tick <= last; ++tick) {
    ticks_.push_back(tick * step_ + 0.0);
  }
  low_ = ticks_.front();
  high_ = ticks_.back();
}

double Axis::at(double value) const {
  return from_ + (value - low_) / (high_ - low_) * (to_ - from_);
}

std::string Axis::text(double tick) const {
  const double digits = std::max(0.0, -std::floor(std::log10(step_) + 1e-9));
  constexpr double kMostDigits = 9;
  return fmt::format("{:.{}f}", tick, static_cast<int>(std::min(digits, kMostDigits)));
}

std::string coordinate(double value) {
  return fmt::format("{:.1f}", value + 0.0);
}

Markup line(double x1, double y1, double x2, double y2, std::string classes) {
  return element("line", {{"x1", coordinate(x1)},
                          {"y1", coordinate(y1)},
                          {"x2", coordinate(x2)},
                          {"y2", coordinate(y2)},
                          {"class", std::move(classes)}});
}

Markup rectangle(double x, double y, double width, double height, std::string classes) {
  return element("rect", {{"x", coordinate(x)},
                          {"y", coordinate(y)},
                          {"width", coordinate(std::max(0.0, width))},
                          {"height", coordinate(std::max(0.0, height))},
                          {"class", std::move(classes)}});
}

Markup label(double x, double y, std::string classes, std::string_view text) {
  return element("text",
                 {{"x", coordinate(x)}, {"y", coordinate(y)}, {"class", std::move(classes)}}, text);
}

Markup titled(const Markup& shape, std::string_view title) {
  return element("g", {}, element("title", {}, title) + shape);
}

Markup horizontal_axis(const Axis& axis, double top, double bottom, std::string_view unit) {
  Markup markup;
  for (const double tick : axis.ticks()) {
    const double x = axis.at(tick);
    markup += line(x, top, x, bottom, "axis");
    const bool is_last = tick == axis.ticks().back();
    markup += label(x, bottom + kTextHeight + 3, is_last ? "soft end" : "soft mid",
                    is_last ? fmt::format("{} {}", axis.text(tick), unit) : axis.text(tick));
  }
  return markup;
}

Markup figure(double height, const Markup& drawing, const Markup& legend, std::string_view caption,
              std::string_view description) {
  const Markup svg = element("svg",
                             {{"viewBox", fmt::format("0 0 {} {}", kWidth, coordinate(height))},
                              {"role", "img"},
                              {"aria-label", std::string(description)}},
                             drawing);
  return element("figure", {}, legend + svg + element("figcaption", {}, caption)) + text("\n");
}

Markup legend_of(const std::vector<std::string>& names) {
  if (names.size() < 2) {
    return {};
  }
  Markup items;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Markup colour = element("svg", {{"viewBox", "0 0 10 10"}, {"aria-hidden", "true"}},
                                  rectangle(0, 0, 10, 10, fill_class(i)));
    items += element("li", {}, colour + text(names[i]));
  }
  return element("ul", {{"class", "legend"}}, items);
}

std::string fill_class(std::size_t series) {
  return fmt::format("f{}", series % kColours);
}
std::string stroke_class(std::size_t series) {
  return fmt::format("s{}", series % kColours);
}

std::string_view tone_class(Tone tone) {
  return et_schema::EnumNames<Tone::kNeutral>("good", "attention", "bad", "neutral")[tone];
}

std::string shortened(std::string_view text, std::size_t most) {
  const auto is_start = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  };
  if (static_cast<std::size_t>(std::ranges::count_if(text, is_start)) <= most) {
    return std::string(text);
  }
  std::size_t characters = 0;
  std::size_t end = 0;
  while (end < text.size() && (!is_start(text[end]) || ++characters < most)) {
    ++end;
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace understudy::pages
