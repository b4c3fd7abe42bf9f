#include "report_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/figures.h"
#include "common/table.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/report_fields.h"
#include "gpu_section.h"
#include "measurement_section.h"
#include "run_sections.h"

namespace understudy::cli {
namespace {

using et_schema::NamedCount;
using et_schema::RankReport;
using et_schema::Report;
using et_schema::RunFigures;

std::uint64_t sum(const std::vector<NamedCount>& rows) {
  std::uint64_t total = 0;
  for (const NamedCount& row : rows) {
    total += row.count;
  }
  return total;
}

Section coverage_section(const Report& report) {
  const et_schema::Coverage& coverage = report.total.coverage;
  TextTable table({{"", kRight}, {""}});
  table.add({with_commas(coverage.exact), "exact"});
  table.add(
      {with_commas(sum(coverage.substituted)), "substituted: another function did the same work"});
  table.add({with_commas(sum(coverage.stubbed)),
             "stubbed: the same bytes in the same time, not counted as replayed"});
  table.add({with_commas(sum(coverage.dropped)), "dropped"});
  table.add({with_commas(sum(coverage.not_applicable)),
             "not applicable to this target (not among the selected)"});
  std::string body = table.to_text();
  if (coverage.time) {
    body += fmt::format("  by recorded time: {}, of it substituted {}; dropped or stubbed {}\n",
                        percent_text(coverage.time), percent_text(coverage.substituted_time),
                        percent_text(coverage.dropped_time));
    for (const et_schema::TimeShare& row : coverage.other_time) {
      body += fmt::format("    {} {}\n", percent_text(row.share), row.name);
    }
  }
  for (const std::string& filter : report.filters) {
    body += fmt::format("  filter: {}\n", filter);
  }
  return {fmt::format("Coverage: {} of {} selected operators replayed, {}",
                      with_commas(coverage.replayed), with_commas(coverage.selected),
                      percent_text(coverage.count)),
          body};
}

Section rows_section(std::string title, const std::vector<NamedCount>& rows, const char* note) {
  std::vector<TableColumn> columns = {{"count", kRight}, {"operator"}};
  if (note != nullptr) {
    columns.push_back({note});
  }
  TextTable table(columns);
  for (const NamedCount& row : rows) {
    std::vector<std::string> cells = {with_commas(row.count), row.name};
    if (note != nullptr) {
      cells.push_back(row.note);
    }
    table.add(std::move(cells));
  }
  return {std::move(title), table.empty() ? "" : table.to_text()};
}

// What the times of operators are over.
std::string of_iteration(const Report& report) {
  return report.world_size > 1 ? "per iteration (counts of all ranks, time of the slowest)"
                               : "per iteration";
}

Section classes_section(const Report& report) {
  struct ClassTime {
    std::string name;
    std::uint64_t count = 0;
    double ms = 0;
  };
  std::map<std::string, ClassTime> by_name;
  double all_ms = 0;
  for (const et_schema::OperatorTime& row : report.total.operators) {
    ClassTime& sum = by_name[row.op_class];
    sum.name = row.op_class;
    sum.count += row.count;
    sum.ms += row.ms;
    all_ms += row.ms;
  }
  std::vector<ClassTime> classes;
  for (auto& [name, row] : by_name) {
    classes.push_back(std::move(row));
  }
  std::stable_sort(classes.begin(), classes.end(),
                   [](const ClassTime& a, const ClassTime& b) { return a.ms > b.ms; });
  TextTable table({{"ms", kRight}, {"share", kRight}, {"count", kRight}, {"class"}});
  for (const ClassTime& row : classes) {
    table.add({figure_text(row.ms), share_text(row.ms / all_ms), with_commas(row.count), row.name});
  }
  return {"Time by class of operator, " + of_iteration(report),
          table.empty() ? "" : table.to_text() + warnings_text(report, "operators")};
}

Section operators_section(const Report& report, std::size_t top) {
  const std::vector<et_schema::OperatorTime>& operators = report.total.operators;
  double all_ms = 0;
  for (const et_schema::OperatorTime& row : operators) {
    all_ms += row.ms;
  }
  TextTable table({{"ms", kRight}, {"share", kRight}, {"count", kRight}, {"operator"}, {"class"}});
  const std::size_t shown = std::min(top, operators.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const et_schema::OperatorTime& row = operators[i];
    table.add({figure_text(row.ms), share_text(row.ms / all_ms), with_commas(row.count), row.name,
               row.op_class});
  }
  const std::string title = shown < operators.size()
                                ? fmt::format("Top {} of {} operators, {}", shown,
                                              with_commas(operators.size()), of_iteration(report))
                                : "Operators, " + of_iteration(report);
  return {title, table.empty() ? "" : table.to_text()};
}

Section collectives_section(const Report& report) {
  TextTable table({{"calls", kRight},
                   {"collective"},
                   {"group"},
                   {"ranks", kRight},
                   {"bytes", kRight},
                   {"median us", kRight},
                   {"moving us", kRight},
                   {"waiting us", kRight},
                   {"algbw GB/s", kRight},
                   {"busbw GB/s", kRight}});
  for (const et_schema::CollectiveTime& row : report.total.collectives) {
    table.add({with_commas(row.count), row.name, row.group, std::to_string(row.group_size),
               with_bytes(row.bytes), figure_text(row.median_us), figure_text(row.moving_us),
               figure_text(row.waiting_us), figure_text(row.algbw_gb_per_s),
               figure_text(row.busbw_gb_per_s)});
  }
  return {"Collectives, per iteration (bytes of one call, bandwidths as in nccl-tests)",
          table.empty() ? "" : table.to_text() + warnings_text(report, "collectives")};
}

Section memory_section(const Report& report) {
  TextTable table({{"", kRight}, {""}});
  for (const auto& row : et_schema::kMemoryCounts) {
    table.add({with_bytes(report.total.memory.*row.value), row.text});
  }
  return {report.world_size > 1 ? "Memory (the largest rank)" : "Memory", table.to_text()};
}

Section checks_section(const RunFigures& total) {
  TextTable table({{"", kRight}, {""}});
  table.add({with_commas(total.output_mismatches),
             fmt::format("of {} outputs differ from the recorded shape, dtype or stride",
                         with_commas(total.outputs_checked))});
  for (const auto& row : et_schema::kValueCounts) {
    const bool is_rare = row.value == &et_schema::ValueHealth::recorded_inf;
    if (const std::uint64_t count = total.values.*row.value; count > 0 || !is_rare) {
      table.add({with_commas(count), row.text});
    }
  }
  return {"Checks", table.to_text()};
}

Section mismatches_section(const RunFigures& total) {
  TextTable table({{"node", kRight}, {"operator"}, {"field"}, {"expected"}, {"got"}});
  for (const et_schema::OutputMismatch& row : total.mismatches) {
    table.add({std::to_string(row.node), row.name, row.field, row.expected, row.got});
  }
  return {total.mismatches.size() < total.output_mismatches
              ? fmt::format("Outputs that differ (the first {})", total.mismatches.size())
              : "Outputs that differ",
          table.empty() ? "" : table.to_text()};
}

Section findings_section(const RunFigures& total) {
  TextTable table(
      {{"node", kRight}, {"operator"}, {"first result with"}, {"after iterations", kRight}});
  for (const et_schema::ValueFinding& finding : total.value_findings) {
    table.add(
        {std::to_string(finding.node), finding.name, finding.kind, with_commas(finding.iteration)});
  }
  return {"Where such numbers were found first", table.empty() ? "" : table.to_text()};
}

Section overhead_section(const RunFigures& total) {
  TextTable table({{"", kRight}, {""}});
  const char* const what = et_schema::kOverheadFigures[0].text;
  if (total.host_overhead_ns_per_operator) {
    table.add({figure_text(total.host_overhead_ns_per_operator) + " ns", what});
  } else if (total.host_overhead_resolution_ns) {
    table.add({"below " + figure_text(total.host_overhead_resolution_ns) + " ns",
               fmt::format("{}: {}", what, et_schema::kOverheadFigures[1].text)});
  }
  for (const auto& row : et_schema::kStartFigures) {
    if (total.*row.value) {
      table.add({figure_text(total.*row.value) + " ms", row.text});
    }
  }
  return {"Overhead", table.empty() ? "" : table.to_text()};
}

std::string meaning_of_loss(const std::string& name) {
  for (std::size_t i = 0; i < et_schema::kLossCount; ++i) {
    const et_schema::LossInfo& loss = et_schema::info(static_cast<et_schema::Loss>(i));
    if (loss.name == name) {
      return std::string(loss.meaning);
    }
  }
  return "";
}

Section losses_section(const RunFigures& total) {
  TextTable table({{"count", kRight}, {"name"}, {"meaning"}});
  for (const auto& [name, count] : total.losses) {
    table.add({with_commas(count), name, meaning_of_loss(name)});
  }
  return {"Losses: what was lost, assumed or repaired on the way from the trace",
          table.empty() ? "" : table.to_text()};
}

Section ranks_section(const Report& report) {
  if (report.ranks.size() < 2) {
    return {};
  }
  TextTable table({{"rank", kRight},
                   {"median ms", kRight},
                   {"p99 ms", kRight},
                   {"coverage", kRight},
                   {"selected", kRight},
                   {"mismatches", kRight},
                   {"NaN/Inf/subnormal", kRight},
                   {"peak", kRight},
                   {"externals", kRight}});
  for (const RankReport& rank : report.ranks) {
    table.add({std::to_string(rank.rank), figure_text(rank.iteration_ms.median),
               figure_text(rank.iteration_ms.p99), percent_text(rank.coverage.count),
               with_commas(rank.coverage.selected), with_commas(rank.output_mismatches),
               fmt::format("{}/{}/{}", rank.values.nan, rank.values.inf, rank.values.subnormal),
               with_bytes(rank.memory.peak_bytes), with_bytes(rank.memory.external_bytes)});
  }
  return {"Ranks", table.to_text()};
}

Section environment_section(const et_schema::Environment& environment) {
  TextTable table({{""}, {""}});
  const auto add_fact = [&table](const std::string& name, const std::string& value) {
    if (!value.empty()) {
      table.add({name, value});
    }
  };
  add_fact("date", environment.date_utc);
  add_fact("device", environment.device);
  add_fact("cpu", environment.cpu_count == 0
                      ? environment.cpu_model
                      : fmt::format("{} ({} CPUs)", environment.cpu_model, environment.cpu_count));
  add_fact("threads", environment.threads == 0 ? "" : std::to_string(environment.threads));
  add_fact("backend", environment.backend);
  add_fact("hosts", fmt::format("{}", fmt::join(environment.hosts, ", ")));
  for (const auto& [name, version] : environment.versions) {
    add_fact(name, version);
  }
  for (const auto& [name, setting] : environment.settings) {
    if (name != "device" || setting != environment.device) {  // asked for, and what it was
      add_fact(name == "device" ? "--device" : name, setting);
    }
  }
  return {"Environment", table.empty() ? "" : table.to_text()};
}

}  // namespace

std::vector<Section> report_sections(const Report& report, const ReportTextOptions& options) {
  const et_schema::Coverage& coverage = report.total.coverage;
  return {iteration_section(report),
          original_section(report),
          pace_section(report.total),
          coverage_section(report),
          rows_section("Substituted", coverage.substituted, "by"),
          rows_section("Stubbed", coverage.stubbed, "by"),
          rows_section("Dropped", coverage.dropped, "reason"),
          rows_section("Not applicable", coverage.not_applicable, "reason"),
          rows_section("Pinned outputs: consumers get tensors of the recorded shape",
                       coverage.pinned_outputs, "reason"),
          classes_section(report),
          operators_section(report, options.top_operators),
          collectives_section(report),
          memory_section(report),
          gpu_section(report),
          counters_section(report.total),
          checks_section(report.total),
          mismatches_section(report.total),
          findings_section(report.total),
          overhead_section(report.total),
          losses_section(report.total),
          ranks_section(report),
          environment_section(report.environment)};
}

}  // namespace understudy::cli
