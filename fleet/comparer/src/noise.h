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

/// The same row in the runs of both sides; null if a run lacks it.
struct PairedRow {
  RowKind kind = RowKind::kOperator;
  std::string name;
  std::string detail;
  std::vector<const Series*> a, b;  ///< one per run
};

/// Pairs the rows of all runs by kind, name and, for collectives, detail. The result points into
/// the runs.
[[nodiscard]] std::vector<PairedRow> pair_rows(const std::vector<Run>& a,
                                               const std::vector<Run>& b);

// How much of a difference noise explains. All values are logarithms of times or of ratios, so that
// 0.01 is about one per cent; all variances are variances of such logarithms. The constants are
// assumed bounds, not measured in each run (docs/metrics.md, "Compare").
// tests/benchmarks/compare_study prints by how much identical runs differ on this machine.

/// Spread of a row, relative to the rest of its run, from one process to the next. It is caused by
/// a different memory layout. Its standard deviation combines the relative part and the absolute
/// part (a share of the step).
inline constexpr double kProcessSpread = 0.0015;
inline constexpr double kProcessSpreadOfStep = 0.0003;
/// Spread of a whole run from one process to the next: clocks, other users of the machine.
inline constexpr double kMachineSpread = 0.035;
/// Degrees of freedom of the spreads above: kSingleRunDegrees if a spread is used alone as a bound,
/// kPriorDegrees if it is averaged with the spread that several runs show.
inline constexpr double kSingleRunDegrees = 30;
inline constexpr double kPriorDegrees = 4;

/// Spread of the gap from one process to the next, as a share of the step's time. The gap includes
/// the allocator's state, which differs by process.
inline constexpr double kGapSpreadOfStep = 0.005;

/// Facts common to all rows: the number of runs per side, and how busy the machine was.
struct Setting {
  std::size_t a = 1;
  std::size_t b = 1;
  /// Factor on the variances from one process to the next; above 1 if other programs ran on the
  /// same cores.
  double disturbance = 1;
  /// Factor from the variance of one run to the variance of the difference of the sides' means.
  [[nodiscard]] double of_difference() const {
    return 1.0 / static_cast<double>(a) + 1.0 / static_cast<double>(b);
  }
  [[nodiscard]] std::size_t degrees() const { return a + b - 2; }
};

/// log B − log A of a row, and its uncertainty.
struct Estimate {
  double a_ms = 0, b_ms = 0;  ///< geometric means over the runs
  double log_ratio = 0;
  std::vector<double> draws;           ///< of log_ratio; draw i uses the same resample for all rows
  std::vector<double> logs_a, logs_b;  ///< by run
  double extra_variance = 0;           ///< from runs with too few samples for resampling
  bool has_few_samples = false;
  double share = 1;  ///< logarithmic mean of the sides' shares of the step, so that log_ratio ×
                     ///< share is the change as a share of the step
  double spread_of_step = kProcessSpreadOfStep;  ///< absolute part of its process spread

  [[nodiscard]] double sampling_variance() const { return variance(draws) + extra_variance; }
};

/// The change that all other classes share, which is attributed to the machine's state.
struct Reference {
  Estimate all;                ///< its logs by run are centred around 0
  double spread_variance = 0;  ///< variance of the classes around `all`
  double inflation = 1;        ///< factor by which rows vary more than the constants allow; ≥ 1
  std::vector<Covariates> covariates;  ///< by run of A, then of B: speed probe, classes' time
  bool has_speed_probe = false;
  /// `all` is within the noise of the machine's state; only with a speed probe.
  bool is_machine_state = false;
};

/// A difference and its uncertainty.
struct Uncertain {
  double value = 0;
  double variance = 0;
  double degrees = kSingleRunDegrees;
  [[nodiscard]] double half_interval() const;  ///< half the width of the 95 % interval
  /// Two-sided probability of such a difference if the true one is 0.
  [[nodiscard]] double p() const;
};

/// Estimates rows by resampling; all rows of a run share its resamples. Returns nothing if a side
/// lacks the row or if it took no time.
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

/// Returns logarithms of times. Each time counts as at least a picosecond, since an operator may
/// take less than the clock resolves.
[[nodiscard]] std::vector<double> logs_of(const std::vector<double>& samples_ms);

/// Returns the variance of a row, relative to the rest of its run, from one process to the next.
[[nodiscard]] double process_variance(const Estimate& row, const Setting& setting);

/// Returns the difference of a row by the clock, without the uncertainty of the machine's state.
[[nodiscard]] Uncertain by_the_clock(const Estimate& row, double inflation, const Setting& setting);
/// Returns the difference of a row by the clock if the machine's state may differ in each run. Uses
/// the more certain of two: the bound on that state, and the spread of the runs themselves.
/// `spread_variance`: variance of the changes of rows that should change alike.
[[nodiscard]] Uncertain with_machine(const Estimate& row, double spread_variance,
                                     const Setting& setting);
/// Combines the expected variance with the excess that several runs show: the sum of two variances
/// with their own degrees of freedom (Satterthwaite 1946). If the runs agree, the variance is the
/// expected one.
[[nodiscard]] Uncertain widened(double value, double expected_variance,
                                const std::vector<double>& a, const std::vector<double>& b,
                                const Setting& setting);
/// Like widened(), if the expected variance is an upper bound. Returns the more certain of two: the
/// result of widened(), and the mean of the expected and the runs' variance, weighted by their
/// degrees of freedom (Smyth 2004).
[[nodiscard]] Uncertain moderated(double value, double expected_variance,
                                  const std::vector<double>& a, const std::vector<double>& b,
                                  const Setting& setting);

}  // namespace understudy::comparer
