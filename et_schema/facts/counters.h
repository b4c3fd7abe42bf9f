#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// Values by name: of an iteration, or of an operator's calls in it. A counter that was not counted
/// has no entry.
using Counters = std::map<std::string, double>;

/// One of the counters that all sources call by the same name: docs/metrics.md, "Counters".
struct CounterFact {
  std::string_view name;  ///< with its unit, as in "dram_bytes"; no unit: a number or a share
  std::string_view text;  ///< label in texts and pages
  /// Empty for what adds up. The values of other counters, such as shares, are means: weighted by
  /// this counter of the same row, or equally if it was not counted.
  std::string_view weight = {};
  [[nodiscard]] bool adds_up() const { return weight.empty(); }
};
/// Returns the counters in the order of texts and pages.
[[nodiscard]] std::span<const CounterFact> counter_facts();
/// Returns the counter's fact. A maker's own counter is labelled by its name, and adds up if the
/// name ends with ".sum" or has no suffix; its other values are means by "device_ns".
[[nodiscard]] CounterFact counter_fact(std::string_view name);
/// Returns the names in the order of counter_facts(), makers' own last.
[[nodiscard]] std::vector<std::string> counter_names(std::span<const Counters> rows);

/// Combines the counters of calls, operators or ranks. Skips rows that counted nothing. A counter
/// that another row lacks is left out, because its sum would be too small.
[[nodiscard]] Counters combined(std::span<const Counters> rows);
/// Returns the counters of one run from the combined ones of `runs` runs.
[[nodiscard]] Counters of_one_run(Counters combined, double runs);

}  // namespace understudy::et_schema
