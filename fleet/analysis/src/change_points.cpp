#include "fleet/analysis/change_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/statistics.h"
#include "fleet/analysis/numerics.h"
#include "fleet/process/run_program.h"

namespace understudy::fleet {
namespace {

namespace fs = std::filesystem;
constexpr double kTimeoutSeconds = 1800;
/// Reads {"series":[[…]],…} from the file that its argument names, and replaces it by [[{…}]].
/// Libraries may print to standard output, so the answer does not go there.
constexpr const char* kDriver = R"(
import json, sys
from otava.series import AnalysisOptions, Metric, Series
with open(sys.argv[1]) as file:
    request = json.load(file)
options = AnalysisOptions()
options.window_len = request["window"]
options.max_pvalue = request["max_p_value"]
options.min_magnitude = request["min_magnitude"]
found = []
for values in request["series"]:
    series = Series("series", None, list(range(len(values))), {"ms": Metric(-1)}, {"ms": values}, {})
    points = series.analyze(options).change_points["ms"]
    found.append([{"index": int(point.index), "p": float(point.pvalue())} for point in points])
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
)";

/// A temporary file.
class RequestFile {
 public:
  explicit RequestFile(const std::string& content) {
    std::string name = (fs::temp_directory_path() / "understudy-series-XXXXXX").string();
    const int descriptor = ::mkstemp(name.data());
    path_ = name;
    std::ofstream file(path_);
    file << content;
    file.close();
    if (descriptor < 0 || !file) {
      throw et_schema::run_failed("a temporary file cannot be written", {.file = path_});
    }
    std::ignore = std::fclose(::fdopen(descriptor, "w"));
  }
  ~RequestFile() {
    std::error_code error;
    fs::remove(path_, error);
  }
  RequestFile(const RequestFile&) = delete;
  RequestFile& operator=(const RequestFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

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
  const RequestFile request(nlohmann::json{
      {"series", std::move(long_enough)},
      {"window", options.window},
      {"max_p_value", options.max_p_value},
      {"min_magnitude",
       options.min_magnitude}}.dump());
  const ProgramEnd end = run_program({.words = {python, "-c", kDriver, request.path()},
                                      .variables = {"PYTHONWARNINGS=ignore"},
                                      .timeout_s = kTimeoutSeconds});
  if (end.status != 0) {
    throw et_schema::run_failed(
        "Otava could not look for change points",
        {.file = python,
         .got = end.timed_out ? fmt::format("not done within {:.0f} s", kTimeoutSeconds)
                              : end.errors.substr(0, end.errors.rfind('\n')),
         .hint = "install it there: pip install apache-otava"});
  }
  std::vector<std::vector<ChangePoint>> found = read_answer(request.path(), series, places, python);
  for (std::size_t i = 0; i < places.size(); ++i) {
    all[places[i]] = lasting(std::move(found[i]), series[places[i]], options);
  }
  return all;
}

std::string find_otava(const std::string& program) {
  for (fs::path folder = fs::path(program).parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    const fs::path python = folder / ".venv-fleet" / "bin" / "python";
    std::error_code error;
    if (fs::exists(python, error)) {
      return python.string();
    }
  }
  return "";
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
