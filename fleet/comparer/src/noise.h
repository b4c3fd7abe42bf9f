#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fleet/comparer/covariance.h"
#include "fleet/comparer/run.h"
#include "fleet/comparer/statistics.h"

namespace understudy::comparer {

/// The same row in the runs of both sides; null where a run lacks it.
struct PairedRow {
  RowKind kind = RowKind::kOperator;
  std::string name;
  std::string detail;
  std::vector<const Series*> a, b;  ///< one per run
};

/// Every row of any run, paired by kind, name and, for collectives, detail. The result points into
/// the runs.
[[nodiscard]] std::vector<PairedRow> pair_rows(const std::vector<Run>& a,
                                               const std::vector<Run>& b);

// How much of a difference noise explains. All values are logarithms of times or of ratios, so that
// 0.01 is one per cent, and all variances are those of such logarithms. The constants are bounds
// that are assumed, not measured in each run (docs/metrics.md, "Compare");
// tests/benchmarks/compare_study prints by how much identical runs differ on this machine.

/// Spread of a row beside the rest of its run, from one process to the next, because memory lies
/// elsewhere. Its standard deviation is the relative part and the absolute one (a share of the
/// step) together.
inline constexpr double kProcessSpread = 0.0015;
inline constexpr double kProcessSpreadOfStep = 0.0003;
/// Spread of a whole run from one process to the next: clocks, neighbours on the machine.
inline constexpr double kMachineSpread = 0.035;
/// Degrees of freedom of the spreads above: first where they are taken as bounds, then in the mean
/// with the spread that several runs show.
inline constexpr double kSingleRunDegrees = 30;
inline constexpr double kPriorDegrees = 4;

/// Spread of the gap as a share of the step; the allocator's luck is part of the gap.
inline constexpr double kGapSpreadOfStep = 0.005;

/// Settings of all rows: how many runs a side has, and how busy the machine was.
struct Setting {
  std::size_t a = 1;
  std::size_t b = 1;
  /// Factor on the variances from one process to the next; above 1 where other programs ran on the
  /// same cores.
  double disturbance = 1;
  /// Factor from the variance of one run to that of the difference of the sides' means.
  [[nodiscard]] double of_difference() const {
    return 1.0 / static_cast<double>(a) + 1.0 / static_cast<double>(b);
  }
  [[nodiscard]] std::size_t degrees() const { return a + b - 2; }
};

/// log B − log A of a row, and everything that says how far to trust it.
struct Estimate {
  double a_ms = 0, b_ms = 0;  ///< geometric means over the runs
  double log_ratio = 0;
  std::vector<double> draws;           ///< of log_ratio: the same resample of all rows in each
  std::vector<double> logs_a, logs_b;  ///< by run
  double extra_variance = 0;           ///< from runs with too few samples to draw from
  bool has_few_samples = false;
  double share = 1;  ///< of the step: the logarithmic mean of both sides' shares, so that log_ratio
                     ///< × share is the change as a share of the step
  double spread_of_step = kProcessSpreadOfStep;  ///< the absolute part of its process's spread

  [[nodiscard]] double sampling_variance() const { return variance(draws) + extra_variance; }
};

/// What all other classes did. As far as it is common to them, it is the machine's state.
struct Reference {
  Estimate all;                        ///< its logs by run are around 0
  double spread_variance = 0;          ///< of the classes around it
  double inflation = 1;                ///< how much more rows vary than the constants allow; ≥ 1
  std::vector<Covariates> covariates;  ///< by run of A, then of B: speed_probe, classes' time
  bool has_speed_probe = false;
  bool is_machine_state = false;  ///< `all` is the machine's state as far as this can be shown;
                                  ///< only with a speed probe
};

/// A difference and its uncertainty.
struct Uncertain {
  double value = 0;
  double variance = 0;
  double degrees = kSingleRunDegrees;
  [[nodiscard]] double half_interval() const;  ///< of the interval of 95 %
  /// Probability of such a difference if the true one is 0, two-sided.
  [[nodiscard]] double p() const;
};

/// Locations of every row with their resamples, drawn together within a run. A row is absent if a
/// side lacks it or if it took no time.
class Sampler {
 public:
  [[nodiscard]] std::optional<Estimate> estimate(const PairedRow& row);

 private:
  struct Location {
    double log_ms = 0;
    std::vector<double> draws;
    bool has_few_samples = false;
  };
  [[nodiscard]] Location locate(const Series& row, std::uint64_t run);
  [[nodiscard]] const std::vector<Resample>& resamples(std::size_t samples, std::uint64_t run);

  std::map<std::pair<std::uint64_t, std::size_t>, std::vector<Resample>> resamples_;
};

/// Logarithms of times. Each time counts as at least a picosecond, since an operator may take less
/// than the clock shows.
[[nodiscard]] std::vector<double> logs_of(const std::vector<double>& samples_ms);

/// The variance of a row beside the rest of its run, from one process to the next.
[[nodiscard]] double process_variance(const Estimate& row, const Setting& setting);

/// The difference of a row by the clock, without the uncertainty of the machine's state.
[[nodiscard]] Uncertain by_the_clock(const Estimate& row, double inflation, const Setting& setting);
/// The difference of a row by the clock when the machine's state may differ in each run. It takes
/// the larger certainty of two: the bound on that state, and the spread of the runs themselves.
/// `spread_variance` is that of rows that should be alike.
[[nodiscard]] Uncertain with_machine(const Estimate& row, double spread_variance,
                                     const Setting& setting);
/// Expectation, and what several runs vary by beyond it: the sum of two variances of their own
/// degrees of freedom (Satterthwaite 1946). A run that is as the others are never makes it less
/// sure.
[[nodiscard]] Uncertain widened(double value, double expected_variance,
                                const std::vector<double>& a, const std::vector<double>& b,
                                const Setting& setting);
/// The same of an expectation that is a bound: the surer of that and of the mean of expectation and
/// runs, weighted by their degrees of freedom (Smyth 2004).
[[nodiscard]] Uncertain moderated(double value, double expected_variance,
                                  const std::vector<double>& a, const std::vector<double>& b,
                                  const Setting& setting);

}  // namespace understudy::comparer
