#include "communication.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cli/common/output.h"
#include "cli/common/output_path.h"
#include "cli/common/run_main.h"
#include "cli/common/stop_signals.h"
#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/machine_memory.h"
#include "et_schema/base/output_file.h"
#include "et_schema/formats/collective_rows/collective_rows.h"
#include "et_schema/formats/operator_times/operator_times.h"
#include "generator/matching/matching.h"
#include "measure.h"
#include "replayer/backends/interface/launcher.h"
#include "replayer/calibrator/design/collectives.h"
#include "replayer/calibrator/measure/made.h"
#include "replayer/device/device.h"
#include "replayer/job/rank_gpus.h"

namespace understudy::cli {
namespace {

using et_schema::CollectiveRow;

/// Returns the most bytes that a call may move: on each rank, inputs and outputs together take at
/// most half of the free memory. The same on all ranks.
std::int64_t fitting_bytes(backends::Job& job, c10::Device device) {
  constexpr std::int64_t kShare = 4;
  const auto mine =
      device.is_cpu()
          ? static_cast<std::int64_t>(et_schema::available_memory().value_or(0)) /
                (kShare * job.world_size())
          : static_cast<std::int64_t>(replayer::device_free_bytes(device).value_or(0)) / kShare;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::string& text : job.all_gather_text(std::to_string(mine))) {
    const std::int64_t of_rank = std::stoll(text);
    least = of_rank > 0 ? std::min(least, of_rank) : least;
  }
  return least;
}

/// Repetitions of calls of one size.
int passes_of(std::int64_t bytes) {
  constexpr std::int64_t kBytes = std::int64_t{64} << 20U;
  constexpr std::int64_t kLeast = 5;
  constexpr std::int64_t kMost = 50;
  return static_cast<int>(std::clamp(kBytes / bytes, kLeast, kMost));
}

pages::Page communication_page(const std::string& path, const std::vector<CollectiveRow>& rows) {
  pages::Page page;
  page.title =
      fmt::format("{}: {} rows of communication", path, et_schema::with_commas(rows.size()));
  return made_by("calibrate", std::move(page), {{"rows_file", path}, {"rows", rows.size()}},
                 "communication.json");
}

}  // namespace

bool CommunicationJob::is_wanted() {
  const std::optional<backends::Launch> launch = backends::launched();
  return launch && launch->world_size > 1;
}

int CommunicationJob::run(const CalibrateArguments& arguments) {
  backend_ = backends::join_job();
  const bool is_first = backend_->rank() == 0;
  if (is_first) {
    refuse_output(arguments.rows, {}, "--output");
  }
  Progress progress(!is_first || arguments.fit.quiet);
  StopSignals signals;
  signals.listen(is_first ? kEndingWords : nullptr);
  const c10::Device device =
      replayer::open_device(arguments.device, backends::launched_local_rank());
  refuse_if(device.is_cuda() && replayer::do_ranks_share_gpus(*backend_, device),
            "NCCL cannot be used", "--device", "one rank a GPU", "ranks that share one",
            "Start as many ranks as there are GPUs.");
  std::vector<CollectiveRow> rows = measure(arguments, device, progress);
  progress.clear();
  has_ended_ = true;
  const int status =
      StopSignals::signal() == 0 ? kStatusOk : status_of_signal(StopSignals::signal());
  if (!is_first) {
    return status;
  }
  for (CollectiveRow& row : rows) {
    row.device = gpu_name(device);
  }
  add_receives(rows);
  et_schema::write_file_atomically(arguments.rows, to_json_lines(rows));
  pages::show(communication_page(arguments.rows, rows), arguments.fit.format, arguments.fit.quiet);
  if (status == kStatusOk && !arguments.fit.output.empty()) {
    write_platform(arguments, {});
  }
  return status;
}

/// Replays a benchmark of all areas for each size, coarse ones first.
std::vector<CollectiveRow> CommunicationJob::measure(const CalibrateArguments& arguments,
                                                     c10::Device device, Progress& progress) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const std::vector<et_schema::CollectiveCall> areas =
      calibrator::collective_areas(backend_->all_gather_text(backend_->host()), !device.is_cpu());
  calibrator::CollectiveLimits limits;
  limits.most_bytes = std::min(limits.most_bytes, fitting_bytes(*backend_, device));
  std::vector<std::int64_t> most_bytes(areas.size(), limits.most_bytes);
  // No size may exceed an area's equal share of the budget.
  constexpr double kNano = 1e9;
  const double most_ns = kNano * arguments.budget_s / static_cast<double>(areas.size());
  std::vector<CollectiveRow> rows;
  for (const std::int64_t bytes : calibrator::collective_sizes(limits)) {
    const double left_s =
        arguments.budget_s - std::chrono::duration<double>(Clock::now() - begin).count();
    if (any_rank(StopSignals::signal() != 0 || left_s <= 0)) {
      break;
    }
    progress.show({"communication", rows.size(), std::nullopt, left_s});
    std::vector<et_schema::CollectiveCall> calls;
    std::vector<std::size_t> of_area;
    for (std::size_t i = 0; i < areas.size(); ++i) {
      if (bytes <= most_bytes[i]) {
        calls.push_back(calibrator::sized(areas[i], bytes));
        of_area.push_back(i);
      }
    }
    const std::vector<CollectiveRow> measured = time(calls, passes_of(bytes), arguments.device);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      constexpr double kRepetitions = 16;  // the trial and other passes, too
      constexpr std::int64_t kCoarseStep = 64;
      std::int64_t& most = most_bytes[of_area[i]];
      if (measured[i].bytes == 0) {
        most = 0;
      } else if (measured[i].median_ns * kRepetitions * kCoarseStep > most_ns) {
        most = std::min(most, bytes * kCoarseStep - 1);
      }
      rows.push_back(measured[i]);
    }
  }
  return rows;
}

/// Replays a benchmark of these calls on all ranks. Returns a row a call, of its slowest rank; none
/// if a signal ended the replay.
std::vector<CollectiveRow> CommunicationJob::time(
    const std::vector<et_schema::CollectiveCall>& calls, int passes, const std::string& device) {
  const et_schema::Bench bench = calibrator::make_bench(calls, backend_->world_size());
  replayer::ReplayOptions options;
  options.device = device;
  options.passes = passes;
  options.comm_order = matching::match_programs(
      bench.programs, bench.groups)[static_cast<std::size_t>(backend_->rank())];
  et_schema::OperatorTimes mine;
  options.monitor.stop_signal = &StopSignals::signal();
  mine.rows = calibrator::replay_made(bench, *backend_, std::move(options)).instruction_times;
  if (any_rank(mine.rows.empty())) {
    return {};
  }
  std::vector<CollectiveRow> rows(calls.size());
  for (const std::string& text : backend_->all_gather_text(to_json_lines(mine))) {
    for (const et_schema::MeasuredCall& timed :
         et_schema::parse_operator_times(text, "a rank's times").rows) {
      if (timed.node_id != et_schema::kNoNodeId &&
          timed.host.median_ns > rows[timed.node_id - 1].median_ns) {
        rows[timed.node_id - 1] = {calls[timed.node_id - 1], timed.host.median_ns,
                                   timed.host.spread_ns / 2, timed.host.n, "calibrate"};
      }
    }
  }
  return rows;
}

bool CommunicationJob::any_rank(bool mine) {
  const std::vector<std::string> all = backend_->all_gather_text(mine ? "yes" : "no");
  return std::ranges::find(all, "yes") != all.end();
}

void CommunicationJob::end_others(int status) {
  if (backend_ != nullptr && !has_ended_) {
    backend_->abort(status);
  }
}

}  // namespace understudy::cli
