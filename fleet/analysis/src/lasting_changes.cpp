#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>
#include <vector>

#include "et_schema/support/statistics.h"
#include "fleet/analysis/change_points.h"

namespace understudy::fleet {
namespace {

double change(const ChangePoint& point) {
  return std::abs(point.after / point.before - 1);
}

/// What change points divide a series into.
class Levels {
 public:
  Levels(const std::vector<ChangePoint>& points, const std::vector<double>& series)
      : series_(series), ends_{0, series.size()} {
    for (const ChangePoint& point : points) {
      ends_.insert(point.index);
    }
  }

  void describe(ChangePoint& point) const {
    point.before = median_of(*std::prev(ends_.find(point.index)), point.index);
    point.after = median_of(point.index, *std::next(ends_.find(point.index)));
  }

  [[nodiscard]] std::size_t shortest_beside(const ChangePoint& point) const {
    const auto at = ends_.find(point.index);
    return std::min(point.index - *std::prev(at), *std::next(at) - point.index);
  }

 private:
  [[nodiscard]] double median_of(std::size_t begin, std::size_t end) const {
    const auto first = series_.begin();
    return et_schema::median({first + static_cast<std::ptrdiff_t>(begin),
                              first + static_cast<std::ptrdiff_t>(end)})
        .value_or(0);
  }

  const std::vector<double>& series_;
  std::set<std::size_t> ends_;
};

}  // namespace

std::vector<ChangePoint> lasting(std::vector<ChangePoint> points, const std::vector<double>& series,
                                 const ChangePointOptions& options) {
  while (true) {
    const Levels levels(points, series);
    auto weakest = points.end();
    for (auto point = points.begin(); point != points.end(); ++point) {
      levels.describe(*point);
      const bool is_weak = levels.shortest_beside(*point) < options.least_level ||
                           change(*point) < options.min_magnitude;
      if (is_weak && (weakest == points.end() || change(*point) < change(*weakest))) {
        weakest = point;
      }
    }
    if (weakest == points.end()) {
      return points;
    }
    points.erase(weakest);
  }
}

}  // namespace understudy::fleet
