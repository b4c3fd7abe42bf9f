#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/common/output.h"
#include "cli/pages/report/report_page.h"
#include "et_schema/base/error.h"
#include "et_schema/base/output_file.h"
#include "et_schema/formats/operator_times/operator_times.h"
#include "et_schema/formats/report/report_json.h"
#include "generator/flow/fake_group.h"
#include "job.h"
#include "predictor/calls/known_cards.h"
#include "predictor/work/step_work.h"
#include "replayer/calibrator/measure/made.h"
#include "replayer/job/replay.h"
#include "replayer/run/crash.h"
#include "simulated_comms.h"

// Measurement and results of a replay.
namespace understudy::cli {

using et_schema::Report;

namespace {

/// Numbers the hosts in place of their names, and names the kernel's system alone.
void hide_machines(et_schema::Environment& environment) {
  std::map<std::string, std::size_t> numbers;
  for (std::string& host : environment.hosts) {
    host = fmt::format("host{}", numbers.try_emplace(host, numbers.size() + 1).first->second);
  }
  std::string& kernel = environment.versions["kernel"];
  kernel.resize(std::min(kernel.find(' '), kernel.size()));
}

}  // namespace

replayer::RankRun ReplayJob::measure() {
  replayer::ReplayOptions options = arguments_.options;
  options.monitor.stop_signal = &StopSignals::signal();
  options.monitor.progress = [this](const replayer::PhaseProgress& at) {
    StopSignals::at(replayer::to_string(at.phase), replayer::say_running_step);
    if (at.phase == replayer::Phase::kIterations) {
      signals_.listen(is_first() ? kEndingWords : nullptr);  // before, there is nothing to keep
    }
    progress_.show({replayer::to_string(at.phase), at.done, at.total, at.left_s});
  };
  replayer::RankRun run = replayer::replay_rank(bench_, bench_rank(), *backend_, options);
  progress_.clear();
  run.report.work =
      predictor::step_work({&bench_.programs[static_cast<std::size_t>(bench_rank())]});
  StopSignals::at("merging the ranks' reports");
  return run;
}

/// Returns the report of the whole job, on every rank.
Report ReplayJob::merged(const replayer::RankRun& run) {
  std::vector<et_schema::RankReport> ranks;
  for (const std::string& text : backend_->all_gather_text(et_schema::to_json(run.report))) {
    ranks.push_back(et_schema::parse_rank_report(text, "a rank's report"));
  }
  et_schema::Environment environment = replayer::describe_environment(run);
  environment.benchmark = std::filesystem::path(arguments_.input).filename().string();
  environment.benchmark_hash = benchmark_hash();
  environment.backend = backend_->name();
  environment.hosts = backend_->all_gather_text(backend_->host());
  if (arguments_.anonymous) {
    hide_machines(environment);
  }
  environment.settings = settings_of(arguments_);
  environment.settings["sandbox"] = sandbox_.held();
  environment.settings.insert(run.settings.begin(), run.settings.end());
  if (!arguments_.comm_times.empty()) {
    environment.backend = et_schema::kSimulatedComms;
    environment.settings["comms"] = fmt::format(
        "simulated for {} ranks, {}{}", bench_.recorded_world_size(),
        std::filesystem::path(arguments_.comm_times).filename().string(), guessed_comms_);
  }
  if (!backend_->version().empty()) {
    environment.versions[backend_->name()] = backend_->version();
  }
  for (std::size_t i = 0; i < libraries_.size(); ++i) {
    environment.versions[std::filesystem::path(arguments_.op_libraries[i]).filename().string()] =
        libraries_[i];
  }
  const auto& program = bench_.programs[static_cast<std::size_t>(bench_rank())];
  std::vector<std::string> filters = program.selection.filters;
  filters.insert(filters.end(), arguments_.filters.begin(), arguments_.filters.end());
  Report report = et_schema::merge(std::move(ranks), filters, std::move(environment));
  if (report.total.iteration_ms.median && report.filters.empty()) {
    const auto& gpu = report.ranks.front().gpu;
    predictor::set_rates(
        *report.total.iteration_ms.median, report.world_size,
        gpu && gpu->health ? predictor::find_known_card(gpu->health->name) : nullptr,
        report.total.work);
  }
  if (generator::is_of_fake_group(bench_.groups)) {
    report.warnings.push_back({"collectives",
                               "the original ran under torch's fake group: its communication took "
                               "no time, and what it received is drawn"});
  }
  return report;
}

std::string ReplayJob::printed(const Report& report) const {
  const bool is_silent =
      arguments_.quiet && !arguments_.report_path.empty() && arguments_.format == Format::kText;
  return is_silent ? "" : pages::written(pages::report_page(report), arguments_.format);
}

void ReplayJob::print(const Report& report) const {
  print_output(printed(report));
  if (!arguments_.report_path.empty()) {
    et_schema::write_file_atomically(arguments_.report_path, et_schema::to_json(report));
  }
}

/// Measures this machine's ceilings if --cold asks for them; all ranks measure at the same time.
std::vector<et_schema::Ceiling> ReplayJob::ceilings(int threads) const {
  if (!arguments_.options.cold) {
    return {};
  }
  replayer::ReplayOptions options;
  options.device = arguments_.options.device;
  options.passes = 2;
  options.sustained_s = arguments_.options.sustained_s;
  options.monitor.stop_signal = arguments_.options.monitor.stop_signal;
  return calibrator::measure_ceilings(options, {threads}, [] { return false; });
}

/// Writes the results of single ranks, on rank 0.
void ReplayJob::write_rank_files(const replayer::RankRun& run, const Report& report) {
  if (!arguments_.operator_times_path.empty()) {
    const et_schema::OperatorTimes times{report.environment.tool_version,
                                         report.environment.benchmark,
                                         report.environment.benchmark_hash,
                                         report.environment.device,
                                         report.environment.threads,
                                         report.world_size,
                                         ceilings(run.threads),
                                         run.instruction_times};
    const auto all = backend_->all_gather_text(et_schema::to_json_lines(times));
    if (is_first()) {
      write_operator_times(arguments_.operator_times_path, times, all);
    }
  }
  if (!arguments_.checksums_path.empty()) {
    const auto all = backend_->all_gather_text(run.checksums);
    if (is_first()) {
      write_checksums(arguments_.checksums_path, all);
    }
  }
  if (!run.trace.empty()) {
    const auto all = backend_->all_gather_text(run.trace);
    if (is_first()) {
      write_traces(arguments_.trace_path, all);
    }
  }
}

void ReplayJob::check_coverage(const Report& report) const {
  const std::optional<double> count = report.total.coverage.count;
  if (!arguments_.min_coverage || (count && *count >= *arguments_.min_coverage)) {
    return;
  }
  throw et_schema::run_failed(
      "less of the trace is replayed than asked for",
      {.file = arguments_.input,
       .field = "--min-coverage",
       .expected = fmt::format("at least {}", *arguments_.min_coverage),
       .got = count ? fmt::format("{:.6f} ({} of {} operators)", *count,
                                  report.total.coverage.replayed, report.total.coverage.selected)
                    : "no operators",
       .hint = "The report lists what is stubbed or dropped, and why; --op-library loads custom "
               "operators."});
}

}  // namespace understudy::cli
