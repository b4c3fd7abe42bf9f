#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "et_schema/base/statistics.h"
#include "et_schema/facts/schema_text.h"
#include "fleet/comparer/run.h"

namespace understudy::comparer {
namespace {

constexpr double kMilliPerMicro = 1e-3;

/// Drops negative and non-finite samples; non-finite ones are NaN in a parsed report.
std::vector<double> finite(const std::vector<double>& samples, std::uint64_t& left_out) {
  std::vector<double> kept;
  kept.reserve(samples.size());
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(kept),
               [](double sample) { return std::isfinite(sample) && sample >= 0; });
  left_out += samples.size() - kept.size();
  return kept;
}

/// Adds `samples` to `sum` by iteration, for as many iterations as both have.
void add_samples(std::vector<double>& sum, const std::vector<double>& samples) {
  sum.resize(std::min(sum.size(), samples.size()));
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += samples[i];
  }
}

void add_row(std::map<std::string, Series>& rows, const Series& row) {
  const auto [place, is_new] = rows.try_emplace(row.name, row);
  if (!is_new) {
    place->second.count += row.count;
    add_samples(place->second.samples_ms, row.samples_ms);
  }
}

/// Returns one sample per iteration: the sum of the collective's calls in it. The input has all
/// iterations of the first call, then all of the next. An iteration with a sample that is not
/// finite is left out. If the samples cannot be divided into iterations, the mean is the only one.
std::vector<double> by_iteration(const std::vector<double>& calls_us, std::uint64_t calls,
                                 std::uint64_t& left_out) {
  const std::size_t count = std::max<std::size_t>(calls, 1);
  if (calls_us.size() % count != 0) {
    const std::vector<double> known = finite(calls_us, left_out);
    return known.empty()
               ? known
               : std::vector{et_schema::mean(known) * static_cast<double>(count) * kMilliPerMicro};
  }
  std::vector<double> samples_ms(calls_us.size() / count, 0.0);
  for (std::size_t i = 0; i < calls_us.size(); ++i) {
    samples_ms[i % samples_ms.size()] +=
        calls_us[i] < 0 ? std::nan("") : calls_us[i] * kMilliPerMicro;
  }
  return finite(samples_ms, left_out);
}

std::string detail_of(const et_schema::CollectiveTime& row) {
  return fmt::format("{} of {}, {} bytes", row.group, row.group_size, row.bytes);
}

Series collective_row(const et_schema::CollectiveTime& row, std::uint64_t& left_out) {
  Series series{RowKind::kCollective, row.name, detail_of(row), row.count,
                by_iteration(row.samples_us, row.count, left_out)};
  if (series.samples_ms.empty() && row.median_us && std::isfinite(*row.median_us)) {
    series.samples_ms = {*row.median_us * static_cast<double>(row.count) * kMilliPerMicro};
  }
  return series;
}

}  // namespace

Run run_of(const et_schema::Report& report, const std::string& file) {
  Run run;
  run.file = file;
  run.world_size = report.world_size;
  run.pace = report.total.pace.mode;
  run.filters = report.filters;
  run.environment = report.environment;
  const auto kept = [&run](const std::vector<double>& samples) {
    return finite(samples, run.samples_left_out);
  };
  const et_schema::RunFigures& total = report.total;
  run.switches_per_s = et_schema::interruptions_per_s(report);
  run.counted = et_schema::counted_run(report);
  run.work = total.work;
  for (const et_schema::NamedCount& row : total.coverage.stubbed) {
    run.not_replayed[row.name] = fmt::format("{} stubbed", row.count);
  }
  for (const et_schema::NamedCount& row : total.coverage.dropped) {
    run.not_replayed[row.name] = fmt::format("{} dropped", row.count);
  }
  run.interrupted_by = total.complete ? "" : total.measurement.ended_by;
  run.rows.push_back({RowKind::kIteration, "", "", 0, kept(total.iteration_ms.samples),
                      kept(total.iteration_speed_probe_samples_ms)});
  std::map<std::string, Series> classes;
  std::vector<Series> operators;
  for (const et_schema::OperatorTime& row : total.operators) {
    const std::vector<double> stated =
        row.samples_ms.empty() ? std::vector{row.ms} : row.samples_ms;
    Series series{RowKind::kOperator, row.name, row.op_class, row.count, kept(stated)};
    add_row(classes, {RowKind::kClass, row.op_class, "", row.count, series.samples_ms});
    operators.push_back(std::move(series));
    if (!row.device_samples_ms.empty()) {
      operators.push_back(
          {RowKind::kOnDevice, row.name, row.op_class, row.count, kept(row.device_samples_ms)});
    }
  }
  for (auto& [name, row] : classes) {
    run.rows.push_back(std::move(row));
  }
  if (!total.gap_samples_ms.empty()) {
    run.rows.push_back({RowKind::kGap, "", "", 0, kept(total.gap_samples_ms)});
  }
  if (!total.speed_probe_samples_ms.empty()) {
    run.rows.push_back({RowKind::kSpeedProbe, "", "", 0, kept(total.speed_probe_samples_ms)});
  }
  std::ranges::move(operators, std::back_inserter(run.rows));
  for (const et_schema::CollectiveTime& row : total.collectives) {
    run.rows.push_back(collective_row(row, run.samples_left_out));
    std::vector<double> moving_ms =
        by_iteration(row.moving_samples_us, row.count, run.samples_left_out);
    if (!moving_ms.empty()) {
      // The remaining time is spent waiting for the last rank and is not the collective's own.
      run.rows.push_back({RowKind::kCollective, row.name, detail_of(row) + ", moving", row.count,
                          std::move(moving_ms)});
    }
  }
  return run;
}

Run without_overloads(const Run& run) {
  Run merged = run;
  merged.rows.clear();
  std::map<RowKind, std::map<std::string, Series>> operators;
  for (Series row : run.rows) {
    if (row.kind != RowKind::kOperator && row.kind != RowKind::kOnDevice) {
      merged.rows.push_back(std::move(row));
      continue;
    }
    row.name = et_schema::without_overload(row.name);
    add_row(operators[row.kind], row);
  }
  for (auto& [kind, rows] : operators) {
    for (auto& [name, row] : rows) {
      merged.rows.push_back(std::move(row));
    }
  }
  return merged;
}

std::set<std::string> operator_names(const Run& run) {
  std::set<std::string> names;
  for (const Series& row : run.rows) {
    if (row.kind == RowKind::kOperator) {
      names.insert(row.name);
    }
  }
  return names;
}

Run run_of(const et_schema::Prediction& prediction, const std::string& file) {
  Run run;
  run.file = file;
  run.is_prediction = true;
  run.work = prediction.work;
  run.world_size = prediction.world_size;
  run.environment.tool_version = prediction.tool_version;
  run.environment.benchmark = prediction.benchmark;
  run.environment.benchmark_hash = prediction.benchmark_hash;
  run.environment.settings["costs"] = "predicted";
  for (const auto& [key, value] : prediction.platform) {
    run.environment.settings["platform." + key] = value;
  }
  const auto add = [&](Series row, double ms) {
    if (std::isfinite(ms) && ms >= 0) {
      row.samples_ms = {ms};
      run.rows.push_back(std::move(row));
    } else {
      ++run.samples_left_out;
    }
  };
  add({.kind = RowKind::kIteration, .name = "", .detail = "", .count = 0, .samples_ms = {}},
      prediction.iteration_ms.value);
  for (const et_schema::PredictedSum& row : prediction.classes) {
    if (row.name != "communication") {
      add({RowKind::kClass, row.name, "", row.count, {}}, row.ms);
    }
  }
  std::map<std::string, Series> operators;
  for (const et_schema::PredictedOperator& row : prediction.operators) {
    if (row.op_class != "communication") {
      add_row(operators, {RowKind::kOperator, row.name, row.op_class, 1, {row.ms.value}});
    }
  }
  for (const auto& [name, sum] : operators) {
    add(sum, sum.samples_ms.front());
  }
  return run;
}

}  // namespace understudy::comparer
