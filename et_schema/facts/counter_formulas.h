#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "et_schema/facts/counters.h"

namespace understudy::et_schema {

/// A counter of counter_facts() as a sum of a maker's metrics, each with a factor. Cards differ in
/// their metrics, so a counter may have several formulas.
struct CounterFormula {
  struct Term {
    std::string metric;  ///< "dram__bytes_read.sum"
    double factor = 1;
  };
  std::string counter;
  std::vector<Term> terms;
};
/// Returns the formulas of all makers, the preferred ones of a counter first. Sources:
/// docs/metrics.md, "Counters".
[[nodiscard]] std::span<const CounterFormula> counter_formulas();

/// Returns the sum, or nothing if a metric is missing.
[[nodiscard]] std::optional<double> value_of(const CounterFormula& formula,
                                             const Counters& metrics);

/// Returns the counters that follow from a maker's metrics of one range, each by its first formula
/// whose metrics are all there.
[[nodiscard]] Counters known_counters(const Counters& metrics);

}  // namespace understudy::et_schema
