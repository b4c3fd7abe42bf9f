#include "replayer/calibrator/measure/made.h"

#include <algorithm>
#include <utility>

#include "et_schema/base/error.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/calibrator/design/ceilings.h"
#include "replayer/device/device.h"
#include "replayer/dispatch/complete_call.h"
#include "replayer/run/run_error.h"

namespace understudy::calibrator {
namespace {

/// Returns the rows of a call, cold and warm; none if LibTorch refuses it.
std::vector<et_schema::MeasuredCall> rows_of(const Call& call,
                                             const replayer::ReplayOptions& options) {
  const auto backend = backends::make_single_backend({});
  try {
    std::vector<et_schema::MeasuredCall> rows =
        replay_made(bench_of(make_program({call})), *backend, options).instruction_times;
    std::erase_if(rows, [](const et_schema::MeasuredCall& row) {
      return row.as != et_schema::RanAs::kExact;
    });
    return rows;
  } catch (const et_schema::Error&) {
    // Throws if the device is lost.
    replayer::finish_iteration(replayer::open_device(options.device, std::nullopt));
    return {};
  }
}

}  // namespace

et_schema::Bench bench_of(et_schema::Program program) {
  et_schema::Bench bench;
  bench.groups.emplace_back().name = "world";
  bench.programs.push_back(std::move(program));
  return bench;
}

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

std::vector<et_schema::Ceiling> measure_ceilings(const replayer::ReplayOptions& options,
                                                 const std::vector<int>& threads,
                                                 const std::function<bool()>& is_over) {
  const bool is_host = replayer::open_device(options.device, std::nullopt).is_cpu();
  std::vector<et_schema::Ceiling> found;
  replayer::ReplayOptions one = options;
  one.cold = true;
  for (CeilingCall& asked : ceiling_calls(!is_host)) {
    if (!replayer::complete_call(asked.call.schema, asked.call.args).empty()) {
      continue;
    }
    for (auto count = threads.begin(); count != threads.end() && !is_over(); ++count) {
      one.threads = *count;
      for (const et_schema::MeasuredCall& row : rows_of(asked.call, one)) {
        if (row.conditions->is_cold == (asked.name == "DRAM")) {
          found.push_back({is_host ? "cpu" : "cuda", is_host ? *count : 0, asked.is_bandwidth,
                           asked.name, asked.work / row.time().min_ns * 1e9});
        }
      }
    }
  }
  return found;
}

}  // namespace understudy::calibrator
