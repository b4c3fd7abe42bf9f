#include "et_schema/model/report_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "et_schema/base/figures.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/original_step.h"

namespace understudy::et_schema {
namespace {

std::string time_text(const Report& report) {
  const IterationStats& stats = report.total.iteration_ms;
  if (!stats.median) {
    return "No iteration was measured";
  }
  std::string text = fmt::format("An iteration takes {} ms", figure_text(stats.median));
  if (stats.median_low) {
    text += fmt::format(" (95 % interval of the median: {} … {})", figure_text(stats.median_low),
                        figure_text(stats.median_high));
  }
  if (const auto compared = compared_step(report)) {
    const double recorded_ms = compared->second;
    text += fmt::format(", {:.3f} times the original's {} ms", *stats.median / recorded_ms,
                        figure_text(recorded_ms));
    if (report.total.pace.mode == "asap") {
      text += " (without its host's gaps)";
    }
    const std::string disturbed =
        disturbance_text(report.total.original.step_ms, report.total.original.unprofiled_ms);
    text += disturbed.empty() ? "" : "; " + disturbed;
  }
  return text;
}

std::string coverage_text(const Coverage& coverage, int ranks) {
  if (coverage.selected == 0) {
    return "no operator was selected";
  }
  // The number of operators does not cover the work that labels and graphs launched. The share of
  // device time does.
  const std::string share =
      coverage.time && !coverage.device_time.empty()
          ? fmt::format(" ({} of the step's device time{})", percent_text(coverage.time),
                        ranks > 1 ? " on the rank with least" : "")
          : std::string();
  if (coverage.exact == coverage.selected) {
    return fmt::format("all {} operators were replayed as recorded{}",
                       with_commas(coverage.selected), share);
  }
  return fmt::format("{} of {} operators were replayed{}, {} of them as recorded",
                     percent_text(coverage.count), with_commas(coverage.selected), share,
                     with_commas(coverage.exact));
}

/// Adds "2 operators were dropped: my::op (no such operator), …".
void add_verdict_rows(std::vector<std::string>& findings, const std::vector<NamedCount>& rows,
                      const char* what) {
  constexpr std::size_t kNamed = 3;
  std::uint64_t count = 0;
  std::vector<std::string> names;
  for (const NamedCount& row : rows) {
    count += row.count;
    if (names.size() < kNamed) {
      names.push_back(row.note.empty() ? row.name : fmt::format("{} ({})", row.name, row.note));
    }
  }
  if (count > 0) {
    findings.push_back(fmt::format("{} {} {}: {}{}.", counted(count, "operator"),
                                   count == 1 ? "was" : "were", what, fmt::join(names, ", "),
                                   rows.size() > kNamed ? ", …" : ""));
  }
}

/// Adds the step's time that no operator replays, and operators that take less than a quarter of
/// their recorded time on the recorded kind of device: they may do less than the original's did.
void add_lost_time(std::vector<std::string>& findings, const RunFigures& total) {
  constexpr double kQuarter = 0.25;
  const Coverage& coverage = total.coverage;
  if (coverage.dropped_time.value_or(0) > kToldShare) {
    findings.push_back(
        fmt::format("{} of the step's recorded time is in operators that were dropped or stubbed.",
                    percent_text(coverage.dropped_time)));
  }
  for (const TimeShare& other : coverage.other_time) {
    if (is_loss(other.name) && other.share > kToldShare) {
      findings.push_back(fmt::format("{} of the step's recorded time is replayed by nothing: {}.",
                                     percent_text(other.share), other.name));
    }
  }
  for (const OperatorTime& row : total.operators) {
    const bool on_device = !coverage.device_time.empty();
    const double ms = (on_device ? row.device_ms : std::optional(row.ms)).value_or(0);
    const double recorded = (on_device ? row.recorded_device_ms : row.recorded_ms).value_or(0);
    if (ms > 0 && ms < kQuarter * recorded &&
        recorded > kToldShare * total.original.step_ms.value_or(0)) {
      findings.push_back(fmt::format("{} takes {} ms, less than a quarter of the recorded {}.",
                                     row.name, figure_text(ms), figure_text(recorded)));
    }
  }
}

void add_values(std::vector<std::string>& findings, const RunFigures& total) {
  const ValueHealth& values = total.values;
  if (values.nan > 0) {
    const auto first = std::ranges::find(total.value_findings, "nan", &ValueFinding::kind);
    findings.push_back(fmt::format(
        "{} hold{} NaN{}: the step computes with other numbers than the original, unless that had "
        "NaN too.",
        counted(values.nan, "tensor"), values.nan == 1 ? "s" : "",
        first == total.value_findings.end()
            ? ""
            : fmt::format(", first of node {} ({})", first->node, first->name)));
  }
  if (values.inf + values.subnormal > 0) {
    findings.push_back(
        fmt::format("Values that change timings: {} with infinities, {} with subnormal numbers.",
                    counted(values.inf, "tensor"), values.subnormal));
  }
}

void add_gpu_warnings(std::vector<std::string>& findings, const Report& report) {
  for (const RankReport& rank : report.ranks) {
    if (!rank.gpu || !rank.gpu->health) {
      continue;
    }
    for (const std::string& warning : rank.gpu->health->warnings) {
      findings.push_back(fmt::format("Rank {}: {}.", rank.rank, warning));
    }
  }
}

std::vector<std::string> findings_of(const Report& report) {
  const RunFigures& total = report.total;
  std::vector<std::string> findings;
  if (!total.complete) {
    findings.push_back(fmt::format("Not complete: ended by {} after {} and {}.",
                                   total.measurement.ended_by,
                                   counted(total.iteration_ms.samples.size(), "iteration"),
                                   counted(total.measurement.timing_passes, "timing pass")));
  }
  if (report.environment.backend == kSimulatedComms) {
    const auto comms = report.environment.settings.find("comms");
    findings.push_back(fmt::format(
        "Communication is {}: this rank ran alone, and each call took the time that it would take "
        "among all ranks. Nothing was sent.",
        comms == report.environment.settings.end() ? "simulated" : comms->second));
  }
  add_lost_time(findings, total);
  add_verdict_rows(findings, total.coverage.dropped, "dropped");
  add_verdict_rows(findings, total.coverage.stubbed, "stubbed");
  if (total.output_mismatches > 0) {
    findings.push_back(
        fmt::format("{} of {} outputs differ from the recorded shape, dtype or stride.",
                    with_commas(total.output_mismatches), with_commas(total.outputs_checked)));
  }
  add_values(findings, total);
  for (const MeasurementWarning& warning : report.warnings) {
    findings.push_back(warning.text + ".");
    char& first = findings.back().front();
    first = first >= 'a' && first <= 'z' ? static_cast<char>(first - 'a' + 'A') : first;
  }
  add_gpu_warnings(findings, report);
  return findings;
}

}  // namespace

std::optional<std::pair<std::string, double>> compared_step(const Report& report) {
  const OriginalStep& original = report.total.original;
  for (const auto& [key, ms] : {std::pair("unprofiled_ms", original.unprofiled_ms),
                                std::pair("step_ms", original.step_ms)}) {
    if (report.filters.empty() && ms.value_or(0) > 0) {
      return std::pair(key, *ms);
    }
  }
  return std::nullopt;
}

Assessment verdict_of(const Report& report) {
  Assessment verdict;
  verdict.findings = findings_of(report);
  const bool is_bad = !report.total.complete || !report.total.iteration_ms.median;
  verdict.tone = is_bad ? Tone::kBad : verdict.findings.empty() ? Tone::kGood : Tone::kAttention;
  const std::string last =
      verdict.findings.empty()
          ? "nothing speaks against these figures"
          : fmt::format("{} to know", counted(verdict.findings.size(), "thing"));
  for (const RankReport& rank : report.ranks) {
    verdict.sentence += rank.original.doubts;
  }
  verdict.sentence += fmt::format("{}; {}; {}.", time_text(report),
                                  coverage_text(report.total.coverage, report.world_size), last);
  return verdict;
}

}  // namespace understudy::et_schema
