#include "fleet/analysis/platforms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "et_schema/base/error.h"
#include "fleet/analysis/numerics.h"

namespace understudy::fleet {
namespace {

constexpr std::size_t kRatioResamples = 2000;
constexpr std::uint64_t kSeed = 1;
constexpr double kLow = 0.025;
constexpr double kHigh = 0.975;
constexpr double kNormal95 = 1.959964;

bool has_interval(const Figures& time) {
  return std::isfinite(time.low_ms) && std::isfinite(time.high_ms) && time.low_ms > 0 &&
         time.high_ms >= time.low_ms;
}

/// Standard error of the median's logarithm, derived from its 95 % interval; 0 if unknown.
double log_error(const Figures& time) {
  return has_interval(time) ? std::log(time.high_ms / time.low_ms) / (2 * kNormal95) : 0;
}

const Figures* time_on(const PlatformRow& row, const std::string& platform) {
  const auto found = row.times.find(platform);
  return found == row.times.end() || !(found->second.median_ms > 0) ? nullptr : &found->second;
}

/// A benchmark that two platforms have.
struct Pair {
  const PlatformRow* row;
  const Figures* here;
  const Figures* there;
  [[nodiscard]] double ratio() const { return here->median_ms / there->median_ms; }
  [[nodiscard]] double log_spread() const {
    return et_schema::root_sum_square(log_error(*here), log_error(*there));
  }
};

std::vector<Pair> pairs_of(const std::vector<PlatformRow>& rows, const std::string& platform,
                           const std::string& baseline) {
  std::vector<Pair> pairs;
  for (const PlatformRow& row : rows) {
    const Figures* here = time_on(row, platform);
    const Figures* there = time_on(row, baseline);
    if (here != nullptr && there != nullptr && row.weight > 0) {
      pairs.push_back({&row, here, there});
    }
  }
  return pairs;
}

double weighted_ratio(const std::vector<Pair>& pairs) {
  double sum = 0;
  double weight = 0;
  for (const Pair& pair : pairs) {
    sum += pair.row->weight * pair.ratio();
    weight += pair.row->weight;
  }
  return weight > 0 ? sum / weight : std::nan("");
}

/// Returns the weighted ratio of a resampled fleet, with times drawn from their intervals.
double resampled_ratio(const std::vector<Pair>& pairs, Random& random) {
  double sum = 0;
  double weight = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Pair& pair = pairs[random.below(pairs.size())];
    const double noise = std::exp(pair.log_spread() * random.normal());
    sum += pair.row->weight * pair.ratio() * noise;
    weight += pair.row->weight;
  }
  return sum / weight;
}

et_schema::Interval interval_of(const std::vector<Pair>& pairs) {
  const double value = weighted_ratio(pairs);
  Random random(kSeed);
  std::vector<double> drawn;
  for (std::size_t i = 0; i < kRatioResamples; ++i) {
    drawn.push_back(resampled_ratio(pairs, random));
  }
  std::ranges::sort(drawn);
  const auto at = [&](double share) {
    return drawn[static_cast<std::size_t>(share * static_cast<double>(drawn.size() - 1))];
  };
  return {value, at(kLow), at(kHigh)};
}

/// Share of resamples in which the first of the pair takes less time.
double faster_probability(const std::vector<Pair>& pairs) {
  if (pairs.empty()) {
    return std::nan("");
  }
  Random random(kSeed);
  std::size_t faster = 0;
  for (std::size_t i = 0; i < kRatioResamples; ++i) {
    faster += resampled_ratio(pairs, random) < 1 ? 1U : 0U;
  }
  return static_cast<double>(faster) / static_cast<double>(kRatioResamples);
}

/// Returns Σ weight × (time here − time there) ÷ iteration there, by class. "outside of operators"
/// is the remainder of the ratio.
std::vector<ClassPart> class_parts(const std::vector<Pair>& pairs) {
  std::map<std::string, double> parts;
  double weight = 0;
  for (const Pair& pair : pairs) {
    if (pair.here->class_ms.empty() || pair.there->class_ms.empty()) {
      continue;
    }
    weight += pair.row->weight;
    double rest = pair.here->median_ms - pair.there->median_ms;
    for (const std::string& name :
         names_in(std::array{pair.here, pair.there}, &Figures::class_ms)) {
      const auto ms_in = [&name](const Figures& time) {
        const auto found = time.class_ms.find(name);
        return found == time.class_ms.end() ? 0.0 : found->second;
      };
      const double change = ms_in(*pair.here) - ms_in(*pair.there);
      parts[name] += pair.row->weight * change / pair.there->median_ms;
      rest -= change;
    }
    parts["outside of operators"] += pair.row->weight * rest / pair.there->median_ms;
  }
  std::vector<ClassPart> list;
  for (const auto& [name, sum] : parts) {
    list.push_back({name, sum / weight});
  }
  std::ranges::stable_sort(list, std::ranges::greater(),
                           [](const ClassPart& row) { return std::abs(row.part); });
  return list;
}

PlatformSummary summary_of(const std::vector<PlatformRow>& rows, const std::string& platform,
                           const std::string& baseline) {
  PlatformSummary summary;
  summary.platform = platform;
  const std::vector<Pair> pairs = pairs_of(rows, platform, baseline);
  summary.benchmarks = pairs.size();
  double weight = 0;
  for (const PlatformRow& row : rows) {
    weight += row.weight;
  }
  for (const Pair& pair : pairs) {
    const bool is_predicted = pair.here->is_predicted || pair.there->is_predicted;
    summary.predicted += is_predicted ? 1U : 0U;
    summary.weight_covered += pair.row->weight / weight;
    const bool is_known = has_interval(*pair.here) && has_interval(*pair.there);
    summary.without_interval += is_known ? 0U : 1U;
    const double half = is_known ? std::exp(kNormal95 * pair.log_spread()) : std::nan("");
    summary.rows.push_back({pair.row->job,
                            pair.row->weight,
                            {pair.ratio(), pair.ratio() / half, pair.ratio() * half},
                            is_predicted});
  }
  if (platform != baseline && !pairs.empty()) {
    summary.ratio = interval_of(pairs);
    summary.classes = class_parts(pairs);
  }
  return summary;
}

std::vector<PlatformRow> common_rows(const std::vector<PlatformRow>& rows,
                                     const std::vector<std::string>& platforms) {
  std::vector<PlatformRow> common;
  std::ranges::copy_if(rows, std::back_inserter(common), [&](const PlatformRow& row) {
    return std::ranges::all_of(
        platforms, [&](const std::string& name) { return time_on(row, name) != nullptr; });
  });
  return common;
}

/// Sets how often each platform is the fastest, over resampled fleets.
void add_first_probabilities(PlatformComparison& comparison, const std::vector<PlatformRow>& rows) {
  std::vector<std::string> names;
  for (const PlatformSummary& summary : comparison.platforms) {
    names.push_back(summary.platform);
  }
  // Where all weights are 0, no platform is compared.
  const auto common = names.empty() ? std::vector<PlatformRow>() : common_rows(rows, names);
  comparison.common = common.size();
  if (common.empty()) {
    for (PlatformSummary& summary : comparison.platforms) {
      summary.first_probability = std::nan("");
    }
    return;
  }
  Random random(kSeed);
  for (std::size_t draw = 0; draw < kRatioResamples; ++draw) {
    std::vector<double> sums(names.size(), 0.0);
    for (std::size_t i = 0; i < common.size(); ++i) {
      const PlatformRow& row = common[random.below(common.size())];
      const double base = time_on(row, comparison.baseline)->median_ms;
      for (std::size_t p = 0; p < names.size(); ++p) {
        const Figures& time = *time_on(row, names[p]);
        sums[p] += row.weight * time.median_ms / base * std::exp(log_error(time) * random.normal());
      }
    }
    const auto first = std::ranges::min_element(sums) - sums.begin();
    comparison.platforms[static_cast<std::size_t>(first)].first_probability += 1;
  }
  for (PlatformSummary& summary : comparison.platforms) {
    summary.first_probability /= static_cast<double>(kRatioResamples);
  }
}

/// Returns the platform that ran most benchmarks, the first by name among several.
std::string usual_baseline(const std::vector<PlatformRow>& rows) {
  std::map<std::string, std::size_t> counts;
  for (const PlatformRow& row : rows) {
    for (const auto& [platform, time] : row.times) {
      counts[platform] += time.is_predicted ? 0U : 1U;
    }
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& row) { return row.second; });
  return most == counts.end() ? "" : most->first;
}

}  // namespace

PlatformComparison compare_platforms(const std::vector<PlatformRow>& rows,
                                     const std::string& requested) {
  const std::string baseline = requested.empty() ? usual_baseline(rows) : requested;
  const std::set<std::string> names = names_in(rows, &PlatformRow::times);
  if (!names.contains(baseline)) {
    const std::string known = fmt::format("{}", fmt::join(names, ", "));
    throw et_schema::usage_error("the baseline has no results of the jobs' benchmarks",
                                 {.field = "--baseline",
                                  .expected = known.empty() ? "a platform with results" : known,
                                  .got = baseline,
                                  .hint = "understudy fleet nightly there, or another baseline"});
  }
  PlatformComparison comparison;
  comparison.jobs = rows.size();
  comparison.baseline = baseline;
  for (const std::string& name : names) {
    PlatformSummary summary = summary_of(rows, name, baseline);
    if (summary.benchmarks > 0) {
      comparison.platforms.push_back(std::move(summary));
    } else {
      comparison.without_common.push_back(name);
    }
  }
  std::ranges::stable_sort(comparison.platforms, {},
                           [](const PlatformSummary& summary) { return summary.ratio.value; });
  for (std::size_t i = 0; i + 1 < comparison.platforms.size(); ++i) {
    comparison.faster_than_next.push_back(faster_probability(
        pairs_of(rows, comparison.platforms[i].platform, comparison.platforms[i + 1].platform)));
  }
  add_first_probabilities(comparison, rows);
  return comparison;
}

}  // namespace understudy::fleet
