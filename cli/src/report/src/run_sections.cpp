#include "run_sections.h"

#include <fmt/format.h>

#include <numeric>
#include <optional>
#include <string>

#include "common/table.h"
#include "figures.h"

namespace understudy::cli {
namespace {

using et_schema::RankReport;

constexpr Alignment kRight = Alignment::kRight;

using Figure = std::optional<double>;

std::string ratio_text(const Figure& replay, const Figure& original) {
  return replay && original && *original > 0 ? fmt::format("{:.3f}", *replay / *original) : "–";
}

/// Time outside of operators, from a step and its operators.
Figure rest(const Figure& whole, const Figure& operators) {
  return whole && operators ? Figure(*whole - *operators) : std::nullopt;
}

Figure mean(const std::vector<double>& samples) {
  return samples.empty() ? std::nullopt
                         : Figure(std::accumulate(samples.begin(), samples.end(), 0.0) /
                                  static_cast<double>(samples.size()));
}

}  // namespace

Section original_section(const RankReport& total) {
  const et_schema::OriginalStep& original = total.original;
  if (!original.step_ms) {
    return {};
  }
  Figure operators_ms;
  for (const et_schema::OperatorTime& row : total.operators) {
    operators_ms = operators_ms.value_or(0) + row.ms;
  }
  TextTable table({{""}, {"original", kRight}, {"replay", kRight}, {"ratio", kRight}});
  const auto add = [&table](const char* what, const Figure& recorded, const Figure& replayed) {
    table.add({what, figure_text(recorded), figure_text(replayed), ratio_text(replayed, recorded)});
  };
  add("a step that nothing observed", original.unprofiled_ms, total.iteration_ms.median);
  add("the profiled step", original.step_ms, total.iteration_ms.median);
  add("  in operators", original.operators_ms, operators_ms);
  add("  between them", rest(original.step_ms, original.operators_ms), mean(total.gap_samples_ms));
  return {"Against the original, ms (its times as they were recorded, on its own machine)",
          table.to_text()};
}

Section pace_section(const RankReport& total) {
  const et_schema::PaceUse& pace = total.pace;
  if (pace.mode == "asap") {
    return {};
  }
  TextTable table({{"", kRight}, {""}});
  table.add({with_commas(pace.paced), "operators an iteration with a recorded time of issue"});
  table.add({with_commas(pace.on_time), "issues on time, all iterations"});
  table.add({figure_text(pace.error_median_us) + " us", "after their time, median of these"});
  table.add({figure_text(pace.error_p99_us) + " us", "99th percentile"});
  table.add({with_commas(pace.late), "late: the one before had not ended"});
  table.add({figure_text(pace.late_ms) + " ms", "late in sum, an iteration"});
  if (pace.own_threads > 0) {
    table.add({with_commas(pace.own_threads), "recorded threads on threads of their own"});
  }
  return {"Pace: " + pace.mode, table.to_text()};
}

Section counters_section(const RankReport& total) {
  const et_schema::SystemCounters& counters = total.counters;
  if (!counters.cpu_ms) {
    return {};
  }
  TextTable table({{"", kRight}, {""}});
  table.add({figure_text(counters.cpu_ms) + " ms", "CPU time of all threads"});
  table.add({figure_text(counters.minor_faults), "minor page faults"});
  table.add({figure_text(counters.major_faults), "major page faults"});
  table.add({figure_text(counters.involuntary_switches), "involuntary context switches"});
  if (total.measurement.foreign_cpus) {
    table.add({figure_text(total.measurement.foreign_cpus), "CPUs used by others meanwhile"});
  }
  if (counters.instructions) {
    table.add({figure_text(counters.instructions), "instructions"});
    table.add({figure_text(counters.cycles), "cycles"});
    table.add({figure_text(counters.cache_misses), "cache misses"});
  }
  const std::string hardware =
      counters.instructions ? "" : "  hardware: " + counters.hardware + "\n";
  return {"System, an iteration", table.to_text() + hardware};
}

}  // namespace understudy::cli
