#pragma once

#include <cstdint>
#include <string>

#include "et_schema/model/report.h"
#include "fleet/comparer/compare.h"

namespace understudy::comparer {

/// How the times of a made-up machine vary.
struct SyntheticNoise {
  double machine_spread = 0.01;   ///< of a whole process, standard deviation
  double unseen_spread = 0;       ///< likewise, of what the speed probe does not show
  double process_spread = 0.002;  ///< of each class and operator, from process to process
  double sample_spread = 0.01;    ///< of each operator in each iteration
  double drift_spread = 0.01;     ///< of all operators of an iteration together, autocorrelated
  double drift_memory = 0.9;      ///< of that drift, from one iteration to the next
  double interruptions = 0.03;    ///< share of samples that are interrupted, and take up to twice
  bool has_speed_probe = false;   ///< which shows the machine and its drift
};

/// A class of the step that everything in it is of.
inline constexpr const char* kWholeStep = "*";

/// A run of a small step: matmul 60 %, optimizer 25 % and others of a few per cent, of about 100
/// ms. Each seed is a process of its own.
struct SyntheticRun {
  std::uint64_t seed = 1;
  std::size_t iterations = 30;
  SyntheticNoise noise = {};
  std::string slow_class = {};  ///< whose operators take `slowdown` times as long; kWholeStep: all
  double slowdown = 1;
  /// Runs of one night have the machine's state, seen and unseen, in common; 0: it is the run's
  /// own.
  std::uint64_t night = 0;
};
[[nodiscard]] Run make_run(const SyntheticRun& synthetic);
/// The report that such a run would have: what stands for `replay` where the truth is to be known.
[[nodiscard]] et_schema::Report make_report(const SyntheticRun& synthetic);

/// The row of a comparison; fails the test's process if there is none.
[[nodiscard]] const Row& row_of(const Comparison& comparison, RowKind kind,
                                const std::string& name);

/// Number of rows with FASTER or SLOWER.
[[nodiscard]] int verdicts(const Comparison& comparison);

}  // namespace understudy::comparer
