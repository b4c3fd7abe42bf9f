#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace understudy::fleet {

/// A job, with the properties that the selection uses.
struct Candidate {
  std::string job;
  std::string benchmark_hash;
  double weight = 1;
  double cost_s = 0;                          ///< of one replay
  std::map<std::string, double> class_share;  ///< shares of its time by class; sum 1
  /// Other features, in any unit: shapes, communication, memory, time. All jobs must have the same.
  std::map<std::string, double> features;
  std::map<std::string, double> platform_ms;  ///< iteration time by platform
};

struct SelectionOptions {
  std::size_t most_jobs = 0;  ///< 0: unlimited
  double most_seconds = 0;    ///< 0: unlimited
  double max_error = 0;       ///< stop as soon as the error is below; 0: use the whole budget
  std::vector<std::string> choose_on = {};  ///< platforms whose times the selection may use
  /// Ratios are checked against this platform, whose times give the shares and weights. If empty,
  /// each pair uses the platform whose name sorts first.
  std::string baseline = {};
  std::size_t random_subsets = 200;  ///< number of random subsets to compare the result with
  std::uint64_t seed = 1;
};

struct SelectedJob {
  std::string job;
  std::string benchmark_hash;
  double weight = 0;  ///< share of the whole; the weights add up to 1
  double low = 0;     ///< 95 % interval, over resampled fleets
  double high = 0;
};

/// How well the subset reproduces the fleet's ratio of two platforms.
struct RatioCheck {
  std::string platform, baseline;
  bool was_chosen_on = false;  ///< both platforms' times were used by the selection
  double fleet = 1;            ///< the ratio over all jobs
  double subset = 1;           ///< the ratio over the subset
  double error = 0;            ///< |subset ÷ fleet − 1|
  double random_median = 0;    ///< error of random subsets of this size, weighted alike
  double random_p90 = 0;
};

struct Selection {
  std::vector<SelectedJob> jobs;
  double mix_distance = 0;  ///< total variation distance of the time by class, subset against fleet
  double random_mix_distance = 0;  ///< median over random subsets
  double cost_s = 0;
  double error = 0;  ///< the largest of the errors on `choose_on` and twice the mix distance
  bool met_max_error = true;
  std::vector<RatioCheck> checks;
};

/// Selects the few jobs that represent the fleet; docs/metrics.md, "Fleet", has the formulas.
/// Throws Error (usage) without candidates.
[[nodiscard]] Selection select_jobs(const std::vector<Candidate>& candidates,
                                    const SelectionOptions& options);

}  // namespace understudy::fleet
