#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/prediction/prediction.h"
#include "predictor/platform/cost_parts.h"
#include "predictor/simulate/simulate.h"

namespace understudy::cli {

/// What `--overlap` says; null: nothing.
struct AskedOverlap {
  std::optional<double> compute = {};
  std::optional<double> communication = {};
  std::optional<double> streams = {};
  [[nodiscard]] bool empty() const { return !compute && !communication && !streams; }
};
/// "compute=1.1,communication=1.3,streams=1.2". Throws Error (usage).
[[nodiscard]] AskedOverlap parse_overlap(std::string_view text);

/// The factors of a simulation: those that were asked for, else the platform's, else 1.
struct UsedOverlap {
  predictor::OverlapFactors factors;
  predictor::OverlapFactors low;  ///< all at the lower ends of their intervals
  predictor::OverlapFactors high;
  std::vector<et_schema::PredictedOverlap> rows;  ///< those that someone gave
  std::vector<std::string> assumptions;
};
/// `device` is what the platform's times are of. Recorded times hold what overlapped when they were
/// recorded.
[[nodiscard]] UsedOverlap used_overlap(const AskedOverlap& asked,
                                       const predictor::FoundOverlap& found,
                                       const std::string& device, bool recorded);

}  // namespace understudy::cli
