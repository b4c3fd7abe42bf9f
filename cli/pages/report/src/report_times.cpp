#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "cli/pages/document/table.h"
#include "et_schema/base/map_values.h"
#include "report_parts.h"

namespace understudy::pages {
namespace {

using et_schema::OperatorTime;
using et_schema::Report;
using Figure = std::optional<double>;

std::string of_iteration(const Report& report) {
  return report.world_size > 1 ? "an iteration (counts of all ranks, times of the slowest)"
                               : "an iteration";
}

/// Two times to compare. On a device both are device times: the host's time was that of launching
/// in the original, and of waiting in the replay.
struct Held {
  Figure here_ms;
  Figure recorded_ms;
};

Held held_of(const OperatorTime& row, bool has_device) {
  const Figure recorded_ms = row.recorded_device_ms ? row.recorded_device_ms : row.recorded_ms;
  return {has_device && recorded_ms ? row.device_ms.value_or(0) : row.ms, recorded_ms};
}

bool has_device_times(const Report& report) {
  return std::ranges::any_of(report.total.operators,
                             [](const OperatorTime& row) { return row.device_ms.has_value(); });
}

/// Operators of a class. The recorded time is known if it is known for all operators of the class.
struct ClassTime {
  std::string name;
  std::uint64_t count = 0;
  double ms = 0;
  Figure here_ms = 0.0;
  Figure recorded_ms = 0.0;
};

Figure sum_of(const Figure& a, const Figure& b) {
  return a && b ? Figure(*a + *b) : std::nullopt;
}

std::vector<ClassTime> classes_of(const std::vector<OperatorTime>& operators, bool has_device) {
  std::map<std::string, ClassTime> by_name;
  for (const OperatorTime& row : operators) {
    ClassTime& sum = et_schema::row_named(row.op_class, by_name);
    sum.count += row.count;
    sum.ms += row.ms;
    const Held held = held_of(row, has_device);
    sum.here_ms = sum_of(sum.here_ms, held.here_ms);
    sum.recorded_ms = sum_of(sum.recorded_ms, held.recorded_ms);
  }
  return et_schema::largest_first(std::move(by_name), &ClassTime::ms);
}

double sum_ms(const std::vector<OperatorTime>& operators) {
  return std::accumulate(operators.begin(), operators.end(), 0.0,
                         [](double sum, const OperatorTime& row) { return sum + row.ms; });
}

Cell ratio_of(const Figure& value, const Figure& base) {
  return value && base && *base > 0 ? cell_of(Figure(*value / *base)) : Cell();
}

}  // namespace

Section classes_section(const ReportData& data) {
  const bool has_device = has_device_times(data.report);
  const double all_ms = sum_ms(data.report.total.operators);
  const bool is_of_device = std::ranges::any_of(
      data.report.total.operators,
      [](const OperatorTime& row) { return row.recorded_device_ms.has_value(); });
  Table table{.id = "class-table",
              .caption = "Classes of operators, ms " + of_iteration(data.report) +
                         "; recorded: in the original, where all of a class is known",
              .columns = {texts("class"), counts("calls"), figures("replay ms"), shares("share"),
                          figures(is_of_device ? "recorded device ms" : "recorded ms"),
                          ratios("replay ÷ recorded")},
              .plots = {{.caption = "Time by class of operator, an iteration.",
                         .columns = {has_device ? 6U : 2U, 4},
                         .unit = "ms"}}};
  if (has_device) {
    table.columns.push_back(figures("device ms"));
  }
  for (const ClassTime& row : classes_of(data.report.total.operators, has_device)) {
    table.rows.push_back({row.name, row.count, cell_of(Figure(row.ms)),
                          cell_of(Figure(row.ms / all_ms)), cell_of(row.recorded_ms),
                          ratio_of(row.here_ms, row.recorded_ms)});
    if (has_device) {
      table.rows.back().push_back(cell_of(row.here_ms));
    }
  }
  return {"classes", "Time by class", {table, class_counters(data)}};
}

Section operators_section(const ReportData& data) {
  const std::vector<OperatorTime>& operators = data.report.total.operators;
  const bool has_device = has_device_times(data.report);
  const double all_ms = sum_ms(operators);
  constexpr std::size_t kShownInText = 15;
  std::vector<Column> columns = columns_of<OperatorTime>();
  const std::size_t share = columns.size();
  columns.push_back({"share", CellKind::kShare});
  columns.push_back({"÷ recorded", CellKind::kRatio});
  std::ranges::move(operator_counters(data), std::back_inserter(columns));
  Table table = table_at(data.json, "/operators", "Operators, ms " + of_iteration(data.report),
                         std::move(columns), kShownInText);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const Held held = held_of(operators[i], has_device);
    table.rows[i][share] = cell_of(Figure(operators[i].ms / all_ms));
    table.rows[i][share + 1] = ratio_of(held.here_ms, held.recorded_ms);
  }
  return {"operators", "Operators", {without_unknown(std::move(table))}};
}

Section collectives_section(const ReportData& data) {
  Section section{"collectives",
                  "Collectives",
                  {without_unknown(table_at(
                      data.json, "/collectives",
                      "Collectives, an iteration; bytes of one call, bandwidths as in nccl-tests",
                      columns_of<et_schema::CollectiveTime>()))}};
  section.blocks.push_back(
      blocks_at<et_schema::CommunicationUse>(data.json, "/communication").front());
  return section;
}

Section ranks_section(const ReportData& data) {
  Table table =
      table_at(data.json, "/ranks", "Ranks",
               {ids("rank"), figures("median ms", "iteration_ms/median"),
                shortened(figures("p10 ms", "iteration_ms/p10"), 0),
                shortened(figures("p90 ms", "iteration_ms/p90"), 0),
                figures("p99 ms", "iteration_ms/p99"), percents("coverage", "coverage/count"),
                counts("selected", "coverage/selected"), counts("mismatches", "output_mismatches"),
                counts("NaN", "values/nan"), counts("Inf", "values/inf"),
                counts("subnormal", "values/subnormal"), byte_counts("peak", "memory/peak_bytes"),
                byte_counts("externals", "memory/external_bytes")});
  table.plots = {
      {.draw = Draw::kInterval,
       .caption = "Iteration time by rank: median, and from the 10th to the 90th percentile.",
       .columns = {1, 2, 3},
       .unit = "ms"}};
  if (data.report.ranks.size() < 2) {
    table.rows.clear();
  }
  return {"ranks", "Ranks", {table}};
}

Section gpu_section(const ReportData& data) {
  Notes without;
  for (const et_schema::RankReport& rank : data.report.ranks) {
    if (rank.gpu && !rank.gpu->health) {
      without.texts.push_back(fmt::format("rank {}: {}", rank.rank, rank.gpu->no_health));
    }
  }
  Table table = without_unknown(
      table_at(data.json, "/ranks", "GPUs, around iterations with nothing between them",
               {ids("rank"), texts("GPU", "gpu/health/name"),
                figures("SM MHz", "gpu/health/before/sm_clock_mhz", 1, "before"),
                figures("SM MHz after", "gpu/health/after/sm_clock_mhz"),
                figures("least SM MHz", "gpu/health/samples/sm_clock_min_mhz"),
                figures("most SM MHz", "gpu/health/samples/sm_clock_max_mhz"),
                figures("°C", "gpu/health/before/temperature_c", 1, "before"),
                figures("°C after", "gpu/health/after/temperature_c"),
                figures("mean W", "gpu/health/mean_power_w"), figures("J", "gpu/health/energy_j"),
                figures("s", "gpu/health/window_s", 1, "the window that these were taken over"),
                counts("iterations", "gpu/health/window_iterations", "in that window"),
                byte_counts("peak", "gpu/memory/peak_bytes"),
                byte_counts("reserved", "gpu/memory/peak_reserved_bytes"),
                counts("driver allocations", "gpu/memory/driver_allocations")}));
  table.id = "gpu-table";
  if (table.columns.size() == 1) {
    table.rows.clear();  // no rank has a GPU
  }
  return {"gpu", "GPU", {table, without}};
}

}  // namespace understudy::pages
