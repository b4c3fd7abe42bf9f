#include "predictor/simulate/assessment.h"

#include <fmt/format.h>

#include "et_schema/base/figures.h"

namespace understudy::predictor {

using et_schema::figure_text;
using et_schema::Prediction;
using et_schema::Tone;

std::string device_name_of(const Prediction& prediction) {
  const auto device = prediction.platform.find("device");
  return device == prediction.platform.end() ? "the recorded platform" : device->second;
}

std::optional<double> original_ms(const Prediction& prediction) {
  for (const et_schema::PredictedRank& rank : prediction.ranks) {
    if (rank.rank == prediction.slowest_rank && rank.recorded_step) {
      return rank.recorded_step->unprofiled_ms.value_or(rank.recorded_step->recorded_ms);
    }
  }
  return std::nullopt;
}

et_schema::Assessment verdict_of(const Prediction& prediction) {
  const et_schema::Interval& time = prediction.iteration_ms;
  std::string text = fmt::format(
      "An iteration on {} of {} would take {} ms, 90 % within {} to {}; bound by {}",
      et_schema::counted(prediction.world_size, "rank"), device_name_of(prediction),
      figure_text(time.value), figure_text(time.low), figure_text(time.high), prediction.bound_by);
  if (const auto original = original_ms(prediction); original && *original > 0) {
    text += fmt::format("; {:.3f} times the original's {} ms", time.value / *original,
                        figure_text(original));
  }
  if (const std::optional<double>& without = prediction.without_what_if_ms) {
    text += fmt::format("; without the what-ifs {} ms: {:+.2f} %", figure_text(without),
                        et_schema::kPercent * (time.value / *without - 1));
  }
  const bool is_sure = prediction.unmodelled.empty() && prediction.assumptions.empty();
  return {is_sure ? Tone::kNeutral : Tone::kAttention, text + "; nobody ran this."};
}

}  // namespace understudy::predictor
