#include "predictor/simulate/assessment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

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

namespace {

/// Names the waits for something that the profile does not show, by their operators.
std::string waits_text(const Prediction& prediction) {
  constexpr double kNoticed = 0.01;
  if (prediction.bound_ms.idle <= kNoticed * prediction.iteration_ms.value) {
    return "";
  }
  std::vector<std::string> waits;
  for (const et_schema::PredictedSum& row : prediction.critical_path) {
    if (row.where == "wait") {
      waits.push_back(fmt::format("{} ms in {}", figure_text(row.ms), row.name));
    }
  }
  const char* const what = prediction.bound_by.starts_with("waits")
                               ? ""
                               : ", beside waits for something outside of the profile";
  return fmt::format("{} ({})", what, fmt::join(waits, ", "));
}

/// Names what is hardly known, if it is a part of the iteration that matters. What is far above its
/// bound is always named.
std::string doubts_text(const Prediction& prediction) {
  constexpr double kMatters = 0.02;
  constexpr std::size_t kMostNames = 3;
  std::map<std::string, std::pair<double, std::vector<std::string>>> reasons;
  for (const et_schema::PredictedSum& row : prediction.doubtful) {
    auto& [ms, names] = reasons[row.where];
    ms += row.ms;
    names.push_back(names.size() < kMostNames ? row.name : "…");
  }
  std::string text;
  for (auto& [reason, sum] : reasons) {
    auto& [ms, names] = sum;
    if (ms > kMatters * prediction.iteration_ms.value || reason.starts_with("above")) {
      names.resize(std::min(names.size(), kMostNames + 1));
      text += fmt::format("; {}: {} ms in {}", reason, figure_text(ms), fmt::join(names, ", "));
    }
  }
  return text;
}

}  // namespace

et_schema::Assessment verdict_of(const Prediction& prediction) {
  const et_schema::Interval& time = prediction.iteration_ms;
  std::string text = fmt::format(
      "An iteration on {} of {} would take {} ms, 90 % within {} to {}; bound by {}",
      et_schema::counted(prediction.world_size, "rank"), device_name_of(prediction),
      figure_text(time.value), figure_text(time.low), figure_text(time.high), prediction.bound_by);
  text += waits_text(prediction);
  constexpr double kTold = 0.9;
  if (const auto& free = prediction.free_host_ms; free && *free < kTold * time.value) {
    text += fmt::format("; {} ms with a host that is never late", figure_text(*free));
  }
  if (const auto original = original_ms(prediction); original && *original > 0) {
    text += fmt::format("; {:.3f} times the original's {} ms", time.value / *original,
                        figure_text(original));
    text += prediction.disturbance.empty() ? "" : "; " + prediction.disturbance;
  }
  if (const std::optional<double>& without = prediction.without_what_if_ms) {
    text += fmt::format("; without the what-ifs {} ms: {:+.2f} %", figure_text(without),
                        et_schema::kPercent * (time.value / *without - 1));
  }
  text += doubts_text(prediction);
  for (const std::string& assumption : prediction.assumptions) {
    text += assumption.starts_with(kAssumedNodes) || assumption.starts_with(kPartOfJob)
                ? "; " + assumption
                : "";
  }
  const bool is_sure = prediction.doubtful.empty() && prediction.assumptions.empty();
  return {is_sure ? Tone::kNeutral : Tone::kAttention, text + "; nobody ran this."};
}

}  // namespace understudy::predictor
