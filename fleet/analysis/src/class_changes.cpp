#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "et_schema/support/statistics.h"
#include "fleet/analysis/change_points.h"

namespace understudy::fleet {
namespace {

double median_of_class(std::span<const ClassTimes> nights, const std::string& name) {
  std::vector<double> figures;
  for (const ClassTimes& night : nights) {
    const auto found = night.find(name);
    figures.push_back(found == night.end() ? 0 : found->second);
  }
  return et_schema::median(std::move(figures)).value_or(0);
}

}  // namespace

std::vector<ClassChange> class_changes(const std::vector<ClassTimes>& nights,
                                       const ChangePoint& point) {
  constexpr std::size_t kNights = 5;
  constexpr double kLeastShare = 0.2;
  const std::span<const ClassTimes> all(nights);
  const auto until = all.first(point.index);
  const auto before = until.last(std::min(kNights, until.size()));
  const auto from = all.subspan(point.index);
  const auto after = from.first(std::min(kNights, from.size()));
  std::set<std::string> names;
  for (const auto side : {before, after}) {
    for (const ClassTimes& night : side) {
      std::ranges::transform(night, std::inserter(names, names.end()),
                             [](const auto& entry) { return entry.first; });
    }
  }
  std::vector<ClassChange> changes;
  for (const std::string& name : names) {
    const double change = median_of_class(after, name) - median_of_class(before, name);
    if (change / (point.after - point.before) >= kLeastShare) {
      changes.push_back({name, change});
    }
  }
  std::ranges::sort(changes, std::greater(),
                    [](const ClassChange& row) { return std::abs(row.ms); });
  return changes;
}

}  // namespace understudy::fleet
