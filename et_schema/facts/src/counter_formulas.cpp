#include "et_schema/facts/counter_formulas.h"

#include <algorithm>
#include <string>

namespace understudy::et_schema {

std::span<const CounterFormula> counter_formulas() {
  constexpr double kOfPercent = 0.01;
  static const std::vector<CounterFormula> formulas = {
      {"device_ns", {{"gpu__time_duration.sum"}}},
      {"sm_active", {{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", kOfPercent}}},
      {"occupancy", {{"sm__warps_active.avg.pct_of_peak_sustained_active", kOfPercent}}},
      {"dram_bytes", {{"dram__bytes.sum"}}},
      {"dram_bytes", {{"dram__bytes_read.sum"}, {"dram__bytes_write.sum"}}},
      {"dram_read_bytes", {{"dram__bytes_read.sum"}}},
      {"dram_write_bytes", {{"dram__bytes_write.sum"}}},
  };
  return formulas;
}

Counters known_counters(const Counters& metrics) {
  Counters known;
  for (const CounterFormula& formula : counter_formulas()) {
    double sum = 0;
    const bool is_whole = std::ranges::all_of(formula.terms, [&](const CounterFormula::Term& term) {
      const auto found = metrics.find(std::string(term.metric));
      sum += found == metrics.end() ? 0 : term.factor * found->second;
      return found != metrics.end();
    });
    if (is_whole) {
      known.try_emplace(std::string(formula.counter), sum);
    }
  }
  return known;
}

}  // namespace understudy::et_schema
