#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace understudy::fleet {

/// A job as it is chosen by.
struct Candidate {
  std::string job;
  std::string benchmark_hash;
  double weight = 1;
  double cost_s = 0;                          ///< of one replay
  std::map<std::string, double> class_share;  ///< of its time; adds up to 1
  /// Other features, in any unit: shapes, communication, memory, time. All jobs have the same.
  std::map<std::string, double> features;
  std::map<std::string, double> platform_ms;  ///< iteration time by platform
};

struct SelectionOptions {
  std::size_t most_jobs = 0;  ///< 0: no bound
  double most_seconds = 0;    ///< 0: no bound
  double max_error = 0;       ///< stop as soon as the error is below; 0: use the budget
  std::vector<std::string> choose_on = {};  ///< platforms whose times may be looked at; else none
  /// Ratios are checked against this platform, whose time the shares and weights are of; empty: of
  /// each two the one that comes first by name.
  std::string baseline = {};
  std::size_t random_subsets = 200;  ///< to hold it against
  std::uint64_t seed = 1;
};

struct SelectedJob {
  std::string job;
  std::string benchmark_hash;
  double weight = 0;  ///< shares of the whole: they add up to 1
  double low = 0;     ///< 95 % interval, over fleets drawn from this one
  double high = 0;
};

/// How well the subset gives the fleet's ratio of two platforms.
struct RatioCheck {
  std::string platform, baseline;
  bool was_chosen_on = false;  ///< both were looked at to choose
  double fleet = 1;            ///< the ratio over all jobs
  double subset = 1;           ///< and over the subset
  double error = 0;            ///< |subset ÷ fleet − 1|
  double random_median = 0;    ///< of random subsets of the same size, weighted in the same way
  double random_p90 = 0;
};

struct Selection {
  std::string method;  ///< "greedy" or "k-medoids": whose mix is nearer
  std::vector<SelectedJob> jobs;
  double mix_distance = 0;         ///< total variation of the time by class, subset against fleet
  double other_mix_distance = 0;   ///< of the other method
  double random_mix_distance = 0;  ///< median of random subsets
  double cost_s = 0;
  double error = 0;  ///< the largest of twice the mix distance and errors on `choose_on`
  bool met_max_error = true;
  std::vector<RatioCheck> checks;
};

/// The few that stand for all; docs/metrics.md, "Fleet", has the formulas. Throws Error (usage)
/// without candidates.
[[nodiscard]] Selection select_jobs(const std::vector<Candidate>& candidates,
                                    const SelectionOptions& options);

}  // namespace understudy::fleet
