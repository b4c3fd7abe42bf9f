#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace understudy::et_schema {

struct Report;

/// A counter of an iteration.
struct Counted {
  double value = 0;
  std::optional<double> spread;  ///< relative to the value; unset if unknown
};
/// The counters of a run by class of operators and name. The whole step is the class "".
using CountedRun = std::map<std::pair<std::string, std::string>, Counted>;

/// Returns the counters of a replay. A class has the spreads of the whole step.
[[nodiscard]] CountedRun counted_run(const Report& report);

/// A counter that both sides of a comparison have.
struct ComparedCounter {
  std::string op_class;  ///< empty: the whole step
  std::string name;
  double a = 0;
  double b = 0;
  std::optional<double> ratio;  ///< b ÷ a; unset if `a` is 0 or the sides are not alike
  std::string verdict;          ///< "SAME", "MORE" or "LESS" in B, "UNSURE"; empty if not alike
};

/// Compares the medians over the runs of each side, the whole step first. B is the same as A if it
/// differs by at most `margin`, a run's spread or the runs' range, relative to A. The verdict is
/// UNSURE if they differ and neither side has a spread or several runs.
[[nodiscard]] std::vector<ComparedCounter> compare_counters(const std::vector<CountedRun>& a,
                                                            const std::vector<CountedRun>& b,
                                                            double margin);

/// Compares the original (A) with its replay (B). A class is the sum of the operators that both
/// sides counted. The whole step has no ratio if the replay is only a part of it.
[[nodiscard]] std::vector<ComparedCounter> counter_resemblance(const Report& report);

}  // namespace understudy::et_schema
