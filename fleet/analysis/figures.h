#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "et_schema/base/json_record.h"
#include "et_schema/model/report.h"

namespace understudy::fleet {

/// What sums and ratios of are finite.
inline constexpr et_schema::NumberRange kModerate = {
    "a number from 0 to 1e15", [](double value) { return value >= 0 && value <= 1e15; }};
inline constexpr et_schema::NumberRange kModerateMs = {
    "milliseconds from 1e-15 to 1e15",
    [](double value) { return value >= 1e-15 && value <= 1e15; }};

inline constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

/// Measured or predicted figures of a benchmark on a platform.
struct Figures {
  double median_ms = 0;       ///< of an iteration
  double low_ms = kNotKnown;  ///< 95 % interval of the median
  double high_ms = kNotKnown;
  double coverage = kNotKnown;  ///< by count
  std::int64_t peak_bytes = 0;
  std::map<std::string, double> class_ms = {};  ///< by class of operators
  bool is_predicted = false;
};

void members(auto& json, et_schema::SameAs<Figures> auto& row) {
  json("median_ms", row.median_ms, kModerateMs);
  json("low_ms", row.low_ms, et_schema::kNullIsNan);
  json("high_ms", row.high_ms, et_schema::kNullIsNan);
  json("coverage", row.coverage, et_schema::kNullIsNan);
  json("peak_bytes", row.peak_bytes);
  json("class_ms", row.class_ms, kModerate);
  json("is_predicted", row.is_predicted);
}

/// Returns a report's figures. Throws Error (failed) if it has no iteration times.
[[nodiscard]] Figures figures_of(const et_schema::Report& report);

/// Returns the environment without what changes with every run.
[[nodiscard]] nlohmann::ordered_json lasting_environment(const et_schema::Environment& environment);

/// Returns "understudy 0.1.0, torch 2.11.0".
[[nodiscard]] std::string software_of(const et_schema::Environment& environment);

}  // namespace understudy::fleet
