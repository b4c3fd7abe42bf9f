#include <algorithm>
#include <utility>
#include <vector>

#include "fleet/analysis/change_points.h"
#include "tasks.h"

namespace understudy::cli {
namespace {

using et_schema::SameAs;
using Json = nlohmann::ordered_json;

/// Nights of a benchmark on a platform, the oldest first.
struct NightSeries {
  std::vector<double> ms;
  std::vector<fleet::ClassTimes> class_ms;  ///< as many; none: no change is told by class
};

void members(auto& json, SameAs<NightSeries> auto& series) {
  json("ms", series.ms, et_schema::kPositive);
  json.if_any("class_ms", series.class_ms);
}

void check_record(const et_schema::JsonField& field, const NightSeries& series) {
  if (!series.class_ms.empty() && series.class_ms.size() != series.ms.size()) {
    field.at("class_ms").fail("times of each night");
  }
}

Json points_json(const std::vector<fleet::ChangePoint>& points, const NightSeries& series) {
  Json list = Json::array();
  for (const fleet::ChangePoint& point : points) {
    Json classes = Json::array();
    for (const fleet::ClassChange& change : series.class_ms.empty()
                                                ? std::vector<fleet::ClassChange>()
                                                : fleet::class_changes(series.class_ms, point)) {
      classes.push_back({{"class", change.name}, {"ms", change.ms}});
    }
    list.push_back({{"index", point.index},
                    {"before_ms", point.before},
                    {"after_ms", point.after},
                    {"p", point.p_value},
                    {"classes", std::move(classes)}});
  }
  return list;
}

/// Finds the series' change points. Returns why there are none if they could not be looked for.
std::string find_points(const std::vector<NightSeries>& nights, const std::string& otava,
                        std::vector<std::vector<fleet::ChangePoint>>& found) {
  std::vector<std::vector<double>> figures;
  for (const NightSeries& series : nights) {
    figures.push_back(series.ms);
  }
  found.resize(figures.size());
  const bool is_any_long = std::ranges::any_of(
      figures, [](const auto& ms) { return ms.size() >= fleet::kLeastFigures; });
  if (is_any_long && otava.empty()) {
    return "apache-otava is not installed: scripts/setup_fleet";
  }
  try {
    found = fleet::change_points(figures, otava);
  } catch (const et_schema::Error& error) {
    return error.summary() + ": " + error.context().got;
  }
  return "";
}

}  // namespace

/// Finds the nights in which series changed for good.
Answer changes_task(std::istream& text, const TaskOptions& options) {
  const auto nights = list_in<NightSeries>(all_of(text), "series");
  std::vector<std::vector<fleet::ChangePoint>> found;
  const std::string not_looked_for = find_points(nights, options.otava, found);
  Json series = Json::array();
  for (std::size_t i = 0; i < found.size(); ++i) {
    series.push_back(points_json(found[i], nights[i]));
  }
  return json_answer({{"series", std::move(series)}, {"not_looked_for", not_looked_for}});
}

}  // namespace understudy::cli
