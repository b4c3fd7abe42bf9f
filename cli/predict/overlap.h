#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/prediction/prediction.h"
#include "predictor/platform/cost_parts.h"
#include "predictor/simulate/simulate.h"

namespace understudy::cli {

/// Values of `--overlap`; unset: not specified.
struct AskedOverlap {
  std::optional<double> compute = {};
  std::optional<double> communication = {};
  std::optional<double> streams = {};
  [[nodiscard]] bool empty() const { return !compute && !communication && !streams; }
};
/// Parses "compute=1.1,communication=1.3,streams=1.2". Throws Error (usage).
[[nodiscard]] AskedOverlap parse_overlap(std::string_view text);

/// Factors of a simulation: requested ones, else the platform's, else 1.
struct UsedOverlap {
  predictor::OverlapFactors factors;
  predictor::OverlapFactors low;  ///< all at the lower ends of their intervals
  predictor::OverlapFactors high;
  /// factors that were requested or that the platform has
  std::vector<et_schema::PredictedOverlap> rows;
  std::vector<std::string> assumptions;
};
/// Returns the factors to use. `device`: the device of the platform's times. Recorded times already
/// include overlap.
[[nodiscard]] UsedOverlap used_overlap(const AskedOverlap& asked,
                                       const predictor::FoundOverlap& found,
                                       const std::string& device, bool recorded);

}  // namespace understudy::cli
