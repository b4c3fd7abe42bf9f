#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/common/figures.h"
#include "cli/pages/plots/plots.h"
#include "drawing.h"
#include "et_schema/base/statistics.h"
#include "et_schema/model/report.h"

namespace understudy::pages {
namespace {

constexpr double kLeft = 46;
constexpr double kRight = kWidth - 12;
constexpr double kTop = 8;
constexpr double kBottom = 200;
constexpr double kHeight = 226;
constexpr std::size_t kMostBins = 60;
constexpr std::size_t kLeastBins = 8;

using Sorted = std::vector<double>;

/// What is drawn of all series: the others are told by number.
struct Range {
  double low = 0;
  double high = 0;
  std::size_t left_out = 0;
};

Sorted finite_sorted(const std::vector<double>& values) {
  Sorted sorted;
  std::ranges::copy_if(values, std::back_inserter(sorted),
                       [](double value) { return std::isfinite(value); });
  std::ranges::sort(sorted);
  return sorted;
}

Range range_of(const std::vector<Sorted>& series) {
  constexpr double kFar = 6;
  Range range{HUGE_VAL, -HUGE_VAL, 0};
  const auto is_drawn = [](const Sorted& sorted, double value) {
    const double first = *et_schema::percentile(sorted, 0.25);
    const double third = *et_schema::percentile(sorted, 0.75);
    const double far = kFar * (third - first);
    return far == 0 || (value >= first - far && value <= third + far);
  };
  for (const Sorted& sorted : series) {
    for (const double value : sorted) {
      if (is_drawn(sorted, value)) {
        range.low = std::min(range.low, value);
        range.high = std::max(range.high, value);
      }
    }
  }
  for (const Sorted& sorted : series) {
    range.left_out += static_cast<std::size_t>(std::ranges::count_if(
        sorted, [&](double value) { return value < range.low || value > range.high; }));
  }
  return range;
}

/// Freedman and Diaconis (1981): bins of 2·(third − first quartile) ÷ ∛n, by the series that asks
/// for most.
std::size_t bins_of(const std::vector<Sorted>& series, const Range& range) {
  double most = kLeastBins;
  for (const Sorted& sorted : series) {
    if (sorted.size() < 2) {
      continue;
    }
    const double spread =
        *et_schema::percentile(sorted, 0.75) - *et_schema::percentile(sorted, 0.25);
    const double width = 2 * spread / std::cbrt(static_cast<double>(sorted.size()));
    if (width > 0) {
      most = std::max(most, std::ceil((range.high - range.low) / width));
    }
  }
  return static_cast<std::size_t>(std::min<double>(most, kMostBins));
}

std::vector<std::size_t> counts_of(const Sorted& sorted, const Range& range, std::size_t bins) {
  std::vector<std::size_t> counts(bins, 0);
  const double width = (range.high - range.low) / static_cast<double>(bins);
  for (const double value : sorted) {
    if (value < range.low || value > range.high) {
      continue;
    }
    const auto bin =
        width > 0 ? static_cast<std::size_t>((value - range.low) / width) : std::size_t{0};
    ++counts[std::min(bin, bins - 1)];
  }
  return counts;
}

class Drawing {
 public:
  Drawing(const Histogram& plot, std::vector<Sorted> sorted)
      : plot_(plot),
        sorted_(std::move(sorted)),
        range_(range_of(sorted_)),
        bins_(bins_of(sorted_, range_)),
        x_(range_.low, range_.high, kLeft, kRight) {}

  [[nodiscard]] Markup markup() const {
    std::vector<std::vector<std::size_t>> counts;
    std::size_t most = 1;
    for (const Sorted& values : sorted_) {
      counts.push_back(counts_of(values, range_, bins_));
      most = std::max(most, std::ranges::max(counts.back()));
    }
    const Axis y(0, static_cast<double>(most), kBottom, kTop);
    Markup drawing = horizontal_axis(x_, kTop, kBottom, plot_.unit);
    drawing += label(kLeft - 6, kTop + 10, "soft end", fmt::format("{}", most));
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      drawing += bars_of(counts[i], i, y);
    }
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      drawing += median_of(i);
    }
    return drawing + line(kLeft, kBottom, kRight, kBottom, "axis");
  }

  [[nodiscard]] std::string caption() const {
    if (range_.left_out == 0) {
      return plot_.caption;
    }
    return range_.left_out == 1 ? plot_.caption + " One sample lies farther out and is not drawn."
                                : fmt::format("{} {} samples lie farther out and are not drawn.",
                                              plot_.caption, range_.left_out);
  }

  [[nodiscard]] std::string description() const {
    std::string description = plot_.caption;
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      description += fmt::format(
          " {}: {} samples from {} to {} {}, median {}.", plot_.series[i].name, sorted_[i].size(),
          cli::figure_text(sorted_[i].front()), cli::figure_text(sorted_[i].back()), plot_.unit,
          cli::figure_text(et_schema::percentile(sorted_[i], 0.5)));
    }
    return description;
  }

 private:
  [[nodiscard]] Markup bars_of(const std::vector<std::size_t>& counts, std::size_t series,
                               const Axis& y) const {
    const double width = (range_.high - range_.low) / static_cast<double>(bins_);
    Markup markup;
    for (std::size_t bin = 0; bin < bins_; ++bin) {
      if (counts[bin] == 0) {
        continue;
      }
      const double from = range_.low + width * static_cast<double>(bin);
      const double top = y.at(static_cast<double>(counts[bin]));
      const double left = x_.at(from);
      const double right = width > 0 ? x_.at(from + width) : left + 3;
      markup += titled(rectangle(left, top, std::max(1.0, right - left - 1), kBottom - top,
                                 fill_class(series) + " see"),
                       fmt::format("{}: {} of {} from {} to {} {}", plot_.series[series].name,
                                   counts[bin], sorted_[series].size(), cli::figure_text(from),
                                   cli::figure_text(from + width), plot_.unit));
    }
    return markup;
  }

  [[nodiscard]] Markup median_of(std::size_t series) const {
    const Samples& samples = plot_.series[series];
    const double median = *et_schema::percentile(sorted_[series], 0.5);
    Markup markup;
    if (samples.low && samples.high) {
      const double left = x_.at(*samples.low);
      markup += rectangle(left, kTop, x_.at(*samples.high) - left, kBottom - kTop, "band");
    }
    const double x = x_.at(median);
    return markup + titled(line(x, kTop, x, kBottom, "whisker " + stroke_class(series)),
                           fmt::format("median of {}: {} {}", samples.name,
                                       cli::figure_text(median), plot_.unit));
  }

  const Histogram& plot_;
  std::vector<Sorted> sorted_;
  Range range_;
  std::size_t bins_;
  Axis x_;
};

}  // namespace

Markup histogram(const Histogram& plot) {
  Histogram drawn = plot;
  drawn.series.clear();
  std::vector<Sorted> sorted;
  std::vector<std::string> names;
  for (const Samples& samples : plot.series) {
    Sorted values = finite_sorted(samples.values);
    if (!values.empty()) {
      sorted.push_back(std::move(values));
      drawn.series.push_back(samples);
      names.push_back(samples.name);
    }
  }
  if (sorted.empty()) {
    return {};
  }
  const Drawing drawing(drawn, std::move(sorted));
  return figure(kHeight, drawing.markup(), legend_of(names), drawing.caption(),
                drawing.description());
}

}  // namespace understudy::pages
