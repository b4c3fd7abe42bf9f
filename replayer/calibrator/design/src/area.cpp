#include "replayer/calibrator/design/area.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "et_schema/model/op_class.h"

namespace understudy::calibrator {
namespace {

/// Indices of the coordinates that follow those of the dimensions.
enum Coordinate : std::size_t { kDtype, kLayout, kZeros, kSkew, kRounding, kCoordinates };

std::int64_t rounded(double size, double rounding) {
  constexpr double kThird = 1.0 / 3;
  constexpr double kMultiple = 8;
  if (rounding > 2 * kThird) {
    return static_cast<std::int64_t>(std::exp2(std::round(std::log2(size))));
  }
  if (rounding > kThird && size > kMultiple) {
    return static_cast<std::int64_t>(std::round(size / kMultiple) * kMultiple);
  }
  return static_cast<std::int64_t>(std::round(size));
}

std::int64_t value_of(const Dimension& dimension, double coordinate, double rounding) {
  if (!dimension.choices.empty()) {
    const auto count = static_cast<double>(dimension.choices.size());
    return dimension.choices[static_cast<std::size_t>(coordinate * count)];
  }
  const auto low = static_cast<double>(dimension.low);
  const auto high = static_cast<double>(dimension.high);
  const double size = low * std::pow(high / low, coordinate);
  return std::clamp(rounded(size, rounding), dimension.low, dimension.high);
}

et_schema::DType dtype_of(double coordinate, const CallLimits& limits) {
  if (coordinate < limits.float32) {
    return et_schema::DType::kFloat32;
  }
  return coordinate < limits.float32 + limits.bfloat16 ? et_schema::DType::kBFloat16
                                                       : et_schema::DType::kFloat64;
}

/// Returns 0 for half of the points, else values up to `most`.
double in_half(double coordinate, double most) {
  constexpr double kNone = 0.5;
  return coordinate < kNone ? 0 : most * (coordinate - kNone) / (1 - kNone);
}

/// Returns a point of a sequence that fills the unit cube evenly, however many are used: multiples
/// of the powers of a number that no fractions come near (Roberts 2018).
std::vector<double> point_of(std::size_t dimensions, std::uint64_t index, std::uint64_t seed) {
  double base = 2;  // becomes the root of x^(dimensions + 1) = x + 1
  for (int i = 0; i < 50; ++i) {
    base = std::pow(1 + base, 1 / static_cast<double>(dimensions + 1));
  }
  std::vector<double> point;
  for (std::size_t k = 1; k <= dimensions; ++k) {
    constexpr double kApart = 0.618;  // between the first points of two seeds
    const double step = std::pow(base, -static_cast<double>(k));
    const double at =
        kApart * static_cast<double>(seed * k) + step * static_cast<double>(index + 1);
    point.push_back(at - std::floor(at));
  }
  return point;
}

}  // namespace

Area::Area(const Recipe& recipe, CallLimits limits, std::uint64_t seed)
    : recipe_(recipe), limits_(limits), dimensions_(dimensions_of(recipe)), seed_(seed) {}

std::optional<Call> Area::at(std::uint64_t index) const {
  const std::vector<double> coordinates = point_of(dimensions_.size() + kCoordinates, index, seed_);
  const double* const extra = &coordinates[dimensions_.size()];
  DimensionValues values;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    values[dimensions_[i].name] = value_of(dimensions_[i], coordinates[i], extra[kRounding]);
  }
  Variation variation;
  variation.dtype = dtype_of(extra[kDtype], limits_);
  variation.layout = extra[kLayout];
  // The state of an optimizer is nonzero, all zero, or partly zero.
  variation.zeros = in_half(extra[kZeros], 1);
  constexpr double kMostSkew = 1.4;  // above the Zipf exponents of real data
  variation.skew = in_half(extra[kSkew], kMostSkew);
  if (work_of(recipe_, values) > limits_.work) {
    return std::nullopt;
  }
  std::optional<Call> call = make_call(recipe_, values, variation);
  if (!call) {
    return std::nullopt;
  }
  const double bytes =
      static_cast<double>(tensor_bytes(*call)) +
      made_elements(recipe_, values) * static_cast<double>(item_size(variation.dtype));
  if (bytes > static_cast<double>(limits_.bytes)) {
    return std::nullopt;
  }
  return call;
}

std::optional<Call> Area::next() {
  constexpr std::uint64_t kMostTries = 2000;  // in a row that give no different call
  for (std::uint64_t tries = 0; tries < kMostTries; ++tries) {
    std::optional<Call> call = at(next_++);
    if (call && seen_.insert(to_text(*call)).second) {
      return call;
    }
  }
  return std::nullopt;
}

std::vector<Area> make_areas(const std::string& only_class, CallLimits limits) {
  std::vector<Area> areas;
  std::uint64_t seed = 0;
  for (const Recipe& recipe : recipes()) {
    ++seed;
    if (only_class.empty() || et_schema::op_class(recipe.op) == only_class) {
      areas.emplace_back(recipe, limits, seed);
    }
  }
  return areas;
}

std::vector<std::string> area_classes() {
  std::set<std::string> classes;
  for (const Recipe& recipe : recipes()) {
    classes.emplace(et_schema::op_class(recipe.op));
  }
  return {classes.begin(), classes.end()};
}

}  // namespace understudy::calibrator
