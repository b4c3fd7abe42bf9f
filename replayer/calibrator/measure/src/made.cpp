#include "replayer/calibrator/measure/made.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/statistics.h"
#include "et_schema/facts/schema_text.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/calibrator/design/ceilings.h"
#include "replayer/device/device.h"
#include "replayer/run/run_error.h"

namespace understudy::calibrator {
replayer::RankRun replay_made(const et_schema::Bench& bench, backends::Backend& backend,
                              replayer::ReplayOptions options) {
  options.warmup = 0;
  options.iterations = 0;
  options.operator_times = true;
  options.continue_on_error = true;
  replayer::RankRun run = replayer::replay_rank(bench, backend.rank(), backend, options);
  if (!run.report.complete) {
    run.instruction_times.clear();
  }
  return run;
}

CallRows replay_calls(const std::vector<Call>& calls, backends::Backend& backend,
                      const replayer::ReplayOptions& options) {
  CallRows made;
  try {
    replayer::RankRun run = replay_made(make_bench(calls), backend, options);
    std::erase_if(run.instruction_times, [](const et_schema::MeasuredCall& row) {
      return row.as != et_schema::RanAs::kExact;
    });
    const et_schema::Coverage& coverage = run.report.coverage;
    for (const auto* counts : {&coverage.substituted, &coverage.stubbed, &coverage.dropped}) {
      for (const et_schema::NamedCount& one : *counts) {
        made.refused[fmt::format("{}: {}", one.name, one.note)] += one.count;
      }
    }
    const double probe_ms = et_schema::median(run.report.speed_probe_samples_ms).value_or(0);
    for (et_schema::MeasuredCall& row : run.instruction_times) {
      row.conditions->call = to_text(calls[row.instruction]);
      row.conditions->speed_probe_ms = probe_ms;
    }
    made.rows = std::move(run.instruction_times);
    return made;
  } catch (const et_schema::Error& error) {
    // Throws if the device is lost.
    replayer::finish_iteration(replayer::open_device(options.device, std::nullopt));
    if (calls.size() == 1) {
      ++made.refused[fmt::format("{}: {}", et_schema::operator_name(calls.front().schema),
                                 error.summary())];
      return made;
    }
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CallRows alone = replay_calls({calls[i]}, backend, options);
    for (et_schema::MeasuredCall& row : alone.rows) {
      row.instruction = i;
      made.rows.push_back(std::move(row));
    }
    for (const auto& [what, times] : alone.refused) {
      made.refused[what] += times;
    }
  }
  return made;
}

std::vector<et_schema::Ceiling> measure_ceilings(const replayer::ReplayOptions& options,
                                                 const std::vector<int>& threads,
                                                 const std::function<bool()>& is_over) {
  const bool is_host = replayer::open_device(options.device, std::nullopt).is_cpu();
  std::vector<et_schema::Ceiling> found;
  const auto backend = backends::make_single_backend({});
  replayer::ReplayOptions one = options;
  one.cold = true;
  for (CeilingCall& asked : ceiling_calls(!is_host)) {
    if (!complete(asked.call).empty()) {
      continue;
    }
    for (auto count = threads.begin(); count != threads.end() && !is_over(); ++count) {
      one.threads = *count;
      for (const et_schema::MeasuredCall& row : replay_calls({asked.call}, *backend, one).rows) {
        const bool is_sustained = row.conditions->is_sustained;
        if (is_sustained ? !asked.is_bandwidth
                         : row.conditions->is_cold == (asked.name == "DRAM")) {
          const double ns = is_sustained ? row.time().median_ns : row.time().min_ns;
          found.push_back({is_host ? "cpu" : "cuda", is_host ? *count : 0, asked.is_bandwidth,
                           asked.name, asked.work / ns * 1e9, is_sustained});
        }
      }
    }
  }
  return found;
}

}  // namespace understudy::calibrator
