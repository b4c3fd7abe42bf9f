#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "et_schema/base/interval.h"
#include "fleet/analysis/figures.h"

namespace understudy::fleet {

/// A benchmark that jobs have now, by its hash, and its newest results by platform. Jobs with the
/// same benchmark share a row with the sum of their weights.
struct PlatformRow {
  std::string job;
  std::string benchmark_hash;
  double weight = 1;
  std::map<std::string, Figures> times;
};

/// Describes the members (et_schema/base/record.h) of a row, or of one with more.
void row_members(auto& json, auto& row) {
  json("job", row.job, et_schema::kFreeText);
  json("benchmark_hash", row.benchmark_hash);
  json("weight", row.weight, kModerate);
  json("times", row.times);
}
void members(auto& json, et_schema::SameAs<PlatformRow> auto& row) {
  row_members(json, row);
}

/// One benchmark on a platform, compared with the baseline.
struct BenchmarkRatio {
  std::string job;
  double weight = 1;
  /// Of times, with its 95 % interval: above 1 is slower than the baseline. The interval is NaN if
  /// a replay was too short for one.
  et_schema::Interval ratio;
  bool is_predicted = false;
};

struct ClassPart {
  std::string name;
  double part = 0;  ///< part of the ratio − 1; negative if the class takes less time
};

struct PlatformSummary {
  std::string platform;
  std::size_t benchmarks = 0;  ///< benchmarks with a time on this platform and on the baseline
  std::size_t predicted = 0;   ///< number of `benchmarks` with a predicted time
  /// Number of `benchmarks` with a time whose interval is unknown. The interval of `ratio` does not
  /// include the noise of these times.
  std::size_t without_interval = 0;
  double weight_covered = 0;              ///< share of the fleet's weight that `benchmarks` have
  et_schema::Interval ratio = {1, 1, 1};  ///< weighted mean over `benchmarks`
  std::vector<BenchmarkRatio> rows;
  std::vector<ClassPart> classes;  ///< by falling magnitude
  /// Probability of being the fastest, over benchmarks that all platforms have; NaN without any.
  double first_probability = 0;
};

struct PlatformComparison {
  std::string baseline;
  std::size_t jobs = 0;    ///< jobs with a benchmark; jobs with equal benchmarks count once
  std::size_t common = 0;  ///< benchmarks that every platform has
  std::vector<PlatformSummary> platforms;  ///< the fastest first, the baseline among them
  /// P(platforms[i] is faster than platforms[i + 1]), over benchmarks that both have.
  std::vector<double> faster_than_next;
  /// Platforms that share no benchmark with the baseline, and are not compared.
  std::vector<std::string> without_common;
};

/// Compares platforms with one of them; docs/metrics.md, "Fleet", has the formulas. Throws Error
/// (usage) if the baseline has no results. `requested`: empty for the one that ran most benchmarks.
[[nodiscard]] PlatformComparison compare_platforms(const std::vector<PlatformRow>& rows,
                                                   const std::string& requested);

}  // namespace understudy::fleet
