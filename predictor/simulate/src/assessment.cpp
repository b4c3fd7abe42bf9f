#include "predictor/simulate/assessment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "et_schema/base/figures.h"
#include "et_schema/base/map_values.h"

namespace understudy::predictor {

using et_schema::figure_text;
using et_schema::Prediction;
using et_schema::Tone;

std::string device_name_of(const Prediction& prediction) {
  return et_schema::value_or(prediction.platform, "device", "the recorded platform");
}

std::optional<double> original_ms(const Prediction& prediction) {
  std::optional<double> longest;
  for (const et_schema::PredictedRank& rank : prediction.ranks) {
    if (const auto& step = rank.recorded_step) {
      longest = std::max(longest, std::optional(step->unprofiled_ms.value_or(step->recorded_ms)));
    }
  }
  return longest;
}

namespace {

constexpr std::size_t kMostNames = 3;

/// Names the waits for something that the profile does not show, by their operators.
void add_waits(const Prediction& prediction, std::vector<std::string>& findings) {
  constexpr double kNoticed = 0.01;
  if (prediction.bound_ms.idle <= kNoticed * prediction.iteration_ms.value) {
    return;
  }
  std::vector<std::string> waits;
  for (const et_schema::PredictedSum& row : prediction.critical_path) {
    if (row.where == "wait") {
      waits.push_back(fmt::format("{} ms in {}", figure_text(row.ms), row.name));
    }
  }
  findings.push_back(
      fmt::format("waits for something outside of the profile: {}", fmt::join(waits, ", ")));
}

/// Names what is hardly known, if it is a part of the iteration that matters. What is far above its
/// bound is always named.
void add_doubts(const Prediction& prediction, std::vector<std::string>& findings) {
  constexpr double kMatters = 0.02;
  std::map<std::string, std::pair<double, std::vector<std::string>>> reasons;
  for (const et_schema::PredictedSum& row : prediction.doubtful) {
    auto& [ms, names] = reasons[row.where];
    ms += row.ms;
    names.push_back(names.size() < kMostNames ? row.name : "…");
  }
  for (auto& [reason, sum] : reasons) {
    auto& [ms, names] = sum;
    if (ms > kMatters * prediction.iteration_ms.value || reason.starts_with("above")) {
      names.resize(std::min(names.size(), kMostNames + 1));
      findings.push_back(
          fmt::format("{}: {} ms in {}", reason, figure_text(ms), fmt::join(names, ", ")));
    }
  }
}

}  // namespace

std::string interval_text(const Prediction& prediction) {
  constexpr double kNoticed = 0.01;
  double sum = 0;
  for (const et_schema::IntervalPart& part : prediction.interval_parts) {
    sum += part.variance_ms2;
  }
  std::vector<std::string> parts;
  for (const et_schema::IntervalPart& part : prediction.interval_parts) {
    const double share = part.variance_ms2 / sum;
    if (share >= kNoticed && parts.size() < kMostNames) {
      parts.push_back(fmt::format("{} {:.0f} %", part.name, et_schema::kPercent * share));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool is_finding(std::string_view assumption) {
  return assumption.starts_with(kNetwork) || assumption.starts_with(kHost) ||
         assumption.starts_with(kPartOfJob) || assumption.starts_with(kDoubts) ||
         assumption.starts_with(kKeptTime);
}

et_schema::Assessment verdict_of(const Prediction& prediction) {
  const et_schema::Interval& time = prediction.iteration_ms;
  const bool is_sure = prediction.doubtful.empty() && prediction.assumptions.empty();
  et_schema::Assessment verdict{
      is_sure ? Tone::kNeutral : Tone::kAttention,
      fmt::format("An iteration on {} of {} would take {} ms, 90 % within {} to {}; bound by {}.",
                  et_schema::counted(prediction.world_size, "rank"), device_name_of(prediction),
                  figure_text(time.value), figure_text(time.low), figure_text(time.high),
                  prediction.bound_by)};
  for (const std::string& assumption : prediction.assumptions) {
    if (assumption.starts_with(kDoubts)) {
      verdict.sentence.insert(0, assumption.substr(kDoubts.size()));
    }
  }
  std::vector<std::string>& findings = verdict.findings;
  if (const auto original = original_ms(prediction); original && *original > 0) {
    const std::string device = et_schema::value_or(prediction.platform, kRecordedOn, "");
    findings.push_back(
        fmt::format("{:.3f} times the original's {} ms{}{}{}", time.value / *original,
                    figure_text(original), device.empty() ? "" : " on " + device,
                    prediction.disturbance.empty() ? "" : "; ", prediction.disturbance));
  }
  if (const std::optional<double>& without = prediction.without_what_if_ms) {
    findings.push_back(fmt::format("without the what-ifs {} ms: {:+.2f} %", figure_text(without),
                                   et_schema::kPercent * (time.value / *without - 1)));
  }
  add_waits(prediction, findings);
  add_doubts(prediction, findings);
  if (et_schema::value_or(prediction.platform, "costs", "recorded") != "recorded") {
    findings.push_back("the interval is made of: " + interval_text(prediction));
  }
  constexpr double kTold = 0.98;
  if (const auto& free = prediction.free_host_ms;
      free && (*free < kTold * time.value || prediction.bound_by == "host")) {
    findings.push_back(
        fmt::format("with a host that is never late it would take {} ms", figure_text(*free)));
  }
  std::ranges::copy_if(prediction.assumptions, std::back_inserter(findings),
                       [](const std::string& assumption) {
                         return is_finding(assumption) && !assumption.starts_with(kDoubts);
                       });
  std::ranges::stable_partition(
      findings, [](const std::string& text) { return text.starts_with(kKeptTime); });
  return verdict;
}

}  // namespace understudy::predictor
