#include "fleet/analysis/assessment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "et_schema/base/figures.h"

namespace understudy::fleet {
namespace {

using et_schema::Assessment;
using et_schema::counted;
using et_schema::Tone;

/// Returns the tone of a ratio. It differs from 1 only if its interval does not contain 1.
Tone tone_of(double low, double high) {
  if (low > 1) {
    return Tone::kBad;
  }
  return high < 1 ? Tone::kGood : Tone::kNeutral;
}

std::string percent(double probability) {
  return std::isfinite(probability) ? fmt::format("{:.0f} %", probability * et_schema::kPercent)
                                    : "–";
}

std::string ranking_text(const PlatformComparison& data) {
  if (data.platforms.empty()) {
    return "No platform has a result.";
  }
  const PlatformSummary& first = data.platforms.front();
  if (data.platforms.size() == 1) {
    return fmt::format("Only {} has results: there is nothing to hold it against.", first.platform);
  }
  if (data.common == 0) {
    return fmt::format(
        "Which platform is the fastest cannot be said: no benchmark has a time on every one. Each "
        "is held against {} by what both have.",
        data.baseline);
  }
  const std::string over =
      fmt::format("probability {}, over {} that every platform has.",
                  percent(first.first_probability), counted(data.common, "benchmark"));
  if (first.platform == data.baseline) {
    const PlatformSummary& next = data.platforms[1];
    return fmt::format(
        "{} is the fastest, {} The next, {}: {:.3f} times its time ({:.3f} … {:.3f}).",
        first.platform, over, next.platform, next.ratio.value, next.ratio.low, next.ratio.high);
  }
  return fmt::format("{} is the fastest: {:.3f} times {}'s time ({:.3f} … {:.3f}), {}",
                     first.platform, first.ratio.value, data.baseline, first.ratio.low,
                     first.ratio.high, over);
}

}  // namespace

Assessment verdict_of(const PlatformComparison& data) {
  Assessment verdict{.sentence = ranking_text(data)};
  const auto add = [&](std::string finding) { verdict.findings.push_back(std::move(finding)); };
  for (const PlatformSummary& platform : data.platforms) {
    if (platform.without_interval > 0 && platform.platform != data.baseline) {
      add(
          fmt::format("{}: {} of {} benchmarks ran too few iterations for an interval: theirs is "
                      "not in the platform's.",
                      platform.platform, platform.without_interval, platform.benchmarks));
    }
    if (platform.predicted > 0) {
      add(fmt::format("{}: {} of {} benchmarks are predicted, not replayed.", platform.platform,
                      platform.predicted, platform.benchmarks));
    }
  }
  if (!data.without_common.empty()) {
    add(fmt::format("Not compared, without a benchmark that {} has: {}.", data.baseline,
                    fmt::join(data.without_common, ", ")));
  }
  return verdict;
}

Assessment verdict_of(const PlatformComparison& data, const PlatformSummary& platform) {
  Assessment verdict{.tone = tone_of(platform.ratio.low, platform.ratio.high)};
  const std::string benchmarks = counted(platform.benchmarks, "benchmark");
  verdict.sentence =
      platform.platform == data.baseline
          ? fmt::format("The platform that others are held against, with {}.", benchmarks)
          : fmt::format("{:.3f} times {}'s time ({:.3f} … {:.3f}), weighted over {}.",
                        platform.ratio.value, data.baseline, platform.ratio.low,
                        platform.ratio.high, benchmarks);
  if (platform.predicted > 0) {
    verdict.findings.push_back(
        fmt::format("{} of them are predicted, not replayed.", platform.predicted));
  }
  return verdict;
}

}  // namespace understudy::fleet
