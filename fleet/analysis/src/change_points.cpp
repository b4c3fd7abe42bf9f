#include "fleet/analysis/change_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "et_schema/base/cannot_write.h"
#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/shipped.h"
#include "et_schema/base/statistics.h"
#include "et_schema/base/temporary_folder.h"
#include "fleet/analysis/numerics.h"
#include "fleet/process/run_program.h"

namespace understudy::fleet {
namespace {

namespace fs = std::filesystem;
constexpr double kTimeoutSeconds = 1800;
/// Parses a change point of a series with `figures` values.
ChangePoint point_of(const nlohmann::json& json, std::size_t figures) {
  const ChangePoint point{.index = json.at("index").get<std::size_t>(),
                          .p_value = json.at("p").get<double>()};
  if (point.index == 0 || point.index >= figures) {
    throw nlohmann::json::out_of_range::create(0, "a point outside of its series", &json);
  }
  return point;
}

/// Reads the driver's answer: change points of each of the series at `places`.
std::vector<std::vector<ChangePoint>> read_answer(const std::string& path,
                                                  const std::vector<std::vector<double>>& series,
                                                  const std::vector<std::size_t>& places,
                                                  const std::string& python) {
  std::vector<std::vector<ChangePoint>> all;
  try {
    const nlohmann::json found =
        nlohmann::json::parse(et_schema::read_file(path, et_schema::process_limits()));
    for (std::size_t i = 0; i < places.size(); ++i) {
      all.emplace_back();
      for (const nlohmann::json& point : found.at(i)) {
        all.back().push_back(point_of(point, series[places[i]].size()));
      }
    }
  } catch (const nlohmann::json::exception&) {
    throw et_schema::run_failed("Otava could not look for change points",
                                {.file = python,
                                 .expected = "points of each series",
                                 .got = "an answer of another form",
                                 .hint = "install it there: pip install apache-otava"});
  }
  return all;
}

double median_of_class(std::span<const ClassTimes> nights, const std::string& name) {
  std::vector<double> figures;
  for (const ClassTimes& night : nights) {
    const auto found = night.find(name);
    figures.push_back(found == night.end() ? 0 : found->second);
  }
  return et_schema::median(std::move(figures)).value_or(0);
}

double change(const ChangePoint& point) {
  return std::abs(point.after / point.before - 1);
}

/// The levels between change points of a series.
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

std::vector<std::vector<ChangePoint>> change_points(const std::vector<std::vector<double>>& series,
                                                    const std::string& python,
                                                    const ChangePointOptions& options) {
  std::vector<std::vector<ChangePoint>> all(series.size());
  std::vector<std::size_t> places;
  nlohmann::json long_enough = nlohmann::json::array();
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].size() >= kLeastFigures) {
      places.push_back(i);
      long_enough.push_back(series[i]);
    }
  }
  if (places.empty()) {
    return all;
  }
  const nlohmann::json request = {{"series", std::move(long_enough)},
                                  {"window", options.window},
                                  {"max_p_value", options.max_p_value},
                                  {"min_magnitude", options.min_magnitude}};
  const et_schema::TemporaryFolder folder;
  const std::string file = folder.write("series.json", request.dump());
  std::vector<std::string> words = et_schema::python_words(python, "change_points");
  words.push_back(file);
  const ProgramEnd end = run_program({.words = words, .timeout_s = kTimeoutSeconds});
  if (end.status != 0) {
    throw et_schema::run_failed(
        "Otava could not look for change points",
        {.file = python,
         .got = end.timed_out ? fmt::format("not done within {:.0f} s", kTimeoutSeconds)
                              : end.errors.substr(0, end.errors.rfind('\n')),
         .hint = "install it there: pip install apache-otava"});
  }
  std::vector<std::vector<ChangePoint>> found = read_answer(file, series, places, python);
  for (std::size_t i = 0; i < places.size(); ++i) {
    all[places[i]] = lasting(std::move(found[i]), series[places[i]], options);
  }
  return all;
}

std::string find_otava() {
  const fs::path python = fs::path(et_schema::clone_folder()) / ".venv-fleet/bin/python";
  std::error_code error;
  return python.is_absolute() && fs::exists(python, error) ? python.string() : "";
}

std::vector<ClassChange> class_changes(const std::vector<ClassTimes>& nights,
                                       const ChangePoint& point) {
  constexpr std::size_t kNights = 5;
  constexpr double kLeastShare = 0.2;
  const std::span<const ClassTimes> all(nights);
  const auto until = all.first(point.index);
  const auto before = until.last(std::min(kNights, until.size()));
  const auto from = all.subspan(point.index);
  const auto after = from.first(std::min(kNights, from.size()));
  std::set<std::string> names = names_in(before, std::identity());
  names.merge(names_in(after, std::identity()));
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
