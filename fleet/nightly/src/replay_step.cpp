#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/processor.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/statistics.h"
#include "et_schema/formats/report/report_json.h"
#include "fleet/analysis/judge.h"
#include "fleet/nightly/report_result.h"
#include "fleet/nightly/worker.h"
#include "fleet/process/node.h"
#include "fleet/process/run_program.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"
#include "fleet/records/results.h"

namespace understudy::fleet {
namespace {

namespace fs = std::filesystem;

/// Number of earlier nights that tonight is compared with.
constexpr std::size_t kBaselineNights = 5;
/// Number of nights in which the level before a change is searched.
constexpr std::size_t kMostNightsBack = 200;

// Open MPI needs these to run as root, and with more ranks than cores.
const std::vector<std::string> kMpiVariables = {
    "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_hwloc_base_binding_policy=none"};

/// A replay's report, as text and parsed.
struct Replay {
  std::string json;
  et_schema::Report report;
};

/// Returns the median of the nights' times.
double level_of(const std::vector<Result>& results) {
  std::vector<double> figures;
  for (const Result& result : results) {
    figures.push_back(result.median_ms);
  }
  return et_schema::median(std::move(figures)).value_or(std::nan(""));
}

/// Returns true if the event made its series slower.
bool is_slowdown(const Event& event) {
  const nlohmann::json detail = nlohmann::json::parse(event.detail);
  return event.kind == kSlower || (event.kind == kChangePoint &&
                                   detail.value("after_ms", 0.0) > detail.value("before_ms", 0.0));
}

class ReplayStep {
 public:
  ReplayStep(StepContext& context, const WorkItem& item, Benchmark benchmark,
             const std::vector<Job>& jobs)
      : context_(context),
        item_(item),
        benchmark_(std::move(benchmark)),
        job_(jobs.front().name),
        others_(others_of(jobs)),
        options_(context.options.replay),
        last_change_(last_change(context.connection, benchmark_.benchmark_hash, item.platform)) {}

  void run() {
    const int cores = et_schema::usable_cores();
    if (benchmark_.world_size > cores && !options_.oversubscribes) {
      context_.finish(item_, kWasSkipped,
                      fmt::format("{}: {} ranks on {} cores (--oversubscribe runs it)", job_,
                                  benchmark_.world_size, cores));
      return;
    }
    if (const std::string fault = context_.store.fault_of(benchmark_.object); !fault.empty()) {
      take_away(fault);
      return;
    }
    const std::vector<et_schema::Report> before = baseline();
    Replay replay = replay_once();
    Judgement judgement = judge(before, replay.report, options_.least_change);
    if (judgement.change != Change::kNone) {
      // Repeats the replay at once: a change that does not recur is none.
      Replay again = replay_once();
      judgement = confirmed(judgement, judge(before, again.report, options_.least_change));
      replay = std::move(again);
    }
    finish(replay, judgement);
  }

 private:
  static std::string others_of(const std::vector<Job>& jobs) {
    std::vector<std::string> names;
    for (std::size_t i = 1; i < jobs.size(); ++i) {
      names.push_back(jobs[i].name);
    }
    return names.empty() ? "" : fmt::format("; it stands for {}, too", fmt::join(names, ", "));
  }

  /// Reports a missing or damaged file, and removes it: the next night makes the benchmark again.
  void take_away(const std::string& fault) {
    const std::string path = context_.store.path_of(benchmark_.object).string();
    const std::string why = fmt::format(
        "its benchmark is {} in the store ({}); the next night makes it anew", fault, path);
    context_.finish(item_, kWasBroken, why, [&] {
      forget_inputs(context_.connection, benchmark_.id);
      put_event(context_.connection, {.night = item_.night,
                                      .kind = kBroken,
                                      .job = job_,
                                      .benchmark_hash = benchmark_.benchmark_hash,
                                      .platform = item_.platform,
                                      .text = why});
    });
    if (fault != "missing") {
      context_.store.remove(benchmark_.object);
    }
  }

  std::vector<Result> judged_nights() {
    return judged_series_of(context_.connection, benchmark_.benchmark_hash, item_.platform,
                            kMostNightsBack);
  }

  /// Returns the newest reports of judged, quiet nights since the last change of the series,
  /// without damaged ones.
  std::vector<et_schema::Report> baseline() {
    const std::int64_t since = last_change_ ? last_change_->night : 0;
    std::vector<et_schema::Report> reports;
    const std::vector<Result> series = judged_nights();
    for (auto result = series.rbegin(); result != series.rend() && reports.size() < kBaselineNights;
         ++result) {
      if (result->report.empty() || result->night < since || result->night == item_.night) {
        continue;
      }
      try {
        et_schema::Report report = read_report(context_.store, result->report);
        if (was_quiet(report)) {
          reports.push_back(std::move(report));
        }
      } catch (const et_schema::Error&) {
        // `fleet verify` reports the damage.
      }
    }
    std::ranges::reverse(reports);
    return reports;
  }

  [[nodiscard]] std::vector<std::string> words(const std::string& bench,
                                               const std::string& report) const {
    std::vector<std::string> all;
    if (benchmark_.world_size > 1) {
      for (std::string word : options_.launcher) {
        if (const std::size_t at = word.find("{ranks}"); at != std::string::npos) {
          word.replace(at, std::string("{ranks}").size(), std::to_string(benchmark_.world_size));
        }
        all.push_back(std::move(word));
      }
    }
    all.insert(all.end(), {context_.options.tools.replay, bench, "--report", report, "--quiet"});
    if (options_.iterations > 0) {
      all.insert(all.end(), {"--iterations", std::to_string(options_.iterations)});
    }
    if (options_.seconds > 0) {
      all.insert(all.end(), {"--seconds", fmt::format("{}", options_.seconds)});
    }
    all.insert(all.end(), options_.flags.begin(), options_.flags.end());
    return all;
  }

  Replay replay_once() const {
    const fs::path bench = fs::path(context_.folder) / "bench.et";
    const fs::path report = fs::path(context_.folder) / "report.json";
    fs::remove(bench);
    fs::remove(report);
    fs::create_symlink(fs::absolute(context_.store.path_of(benchmark_.object)), bench);
    NodeLock lock(NodeUse::kTiming);
    std::vector<std::string> variables = kMpiVariables;
    variables.emplace_back("UNDERSTUDY_PROGRESS=off");
    const ProgramEnd end = run_program({.words = words(bench.string(), report.string()),
                                        .variables = std::move(variables),
                                        .timeout_s = options_.timeout_s});
    if (!end.timed_out) {
      lock.release();
    }
    if (end.status != 0) {
      const std::string why = end.timed_out
                                  ? fmt::format("not done within {:.0f} s", options_.timeout_s)
                                  : in_one_line(end.errors);
      throw et_schema::run_failed(fmt::format("replay ended with status {}", end.status),
                                  {.got = why});
    }
    Replay replay;
    replay.json = et_schema::read_file(report.string(), et_schema::process_limits());
    replay.report = et_schema::parse_report(replay.json, report.string());
    return replay;
  }

  /// "; as before night 7 (58.000 ms)" if a slowed series is back at its earlier level; else empty.
  std::string as_before_text(double median_ms) {
    if (!last_change_ || !is_slowdown(*last_change_)) {
      return "";
    }
    std::vector<Result> before = judged_nights();
    std::erase_if(before,
                  [&](const Result& result) { return result.night >= last_change_->night; });
    if (before.size() > kBaselineNights) {
      before.erase(before.begin(), before.end() - kBaselineNights);
    }
    const double level_ms = level_of(before);
    const bool is_again =
        std::abs(std::log(median_ms / level_ms)) <= std::log1p(options_.least_change);
    return is_again ? fmt::format("; as before night {} ({:.3f} ms)", last_change_->night, level_ms)
                    : "";
  }

  /// Returns the event that follows from the judgement; `kind` is empty if there is none.
  Event event_of(const Judgement& judgement, double median_ms) {
    Event event{.night = item_.night,
                .kind = "",
                .job = job_,
                .benchmark_hash = benchmark_.benchmark_hash,
                .platform = item_.platform,
                .text = judgement.text,
                .detail = judgement.detail};
    switch (judgement.change) {
      case Change::kSlower:
        event.kind = kSlower;
        break;
      case Change::kFaster: {
        const std::string as_before = as_before_text(median_ms);
        event.kind = as_before.empty() ? kFaster : kRecovered;
        event.text += as_before;
        break;
      }
      case Change::kUnjudged:
        event.kind = kUnjudged;
        break;
      case Change::kNone:
        break;
    }
    event.text += others_;
    return event;
  }

  void finish(const Replay& replay, const Judgement& judgement) {
    Result result = result_of(replay.report);
    result.benchmark_hash = benchmark_.benchmark_hash;
    result.platform = item_.platform;
    result.night = item_.night;
    result.date_utc = now_utc();
    result.report = put_report(context_.store, replay.json);
    const Event event = event_of(judgement, result.median_ms);
    context_.finish(item_, kWasReplayed, fmt::format("{:.3f} ms", result.median_ms), [&] {
      result.environment = put_environment(context_.connection, replay.report.environment);
      put_result(context_.connection, result);
      if (!event.kind.empty()) {
        put_event(context_.connection, event);
      }
    });
  }

  StepContext& context_;
  const WorkItem& item_;
  Benchmark benchmark_;
  std::string job_;
  std::string others_;  ///< clause that ends the event's text
  const ReplayOptions& options_;
  std::optional<Event> last_change_;  ///< of the series
};

}  // namespace

void replay_step(StepContext& context, const WorkItem& item) {
  const std::optional<Benchmark> benchmark = find_benchmark(context.connection, item.subject);
  const std::vector<Job> jobs =
      benchmark ? jobs_of_benchmark_hash(context.connection, benchmark->benchmark_hash)
                : std::vector<Job>();
  if (jobs.empty()) {
    context.finish(item, kWasSkipped, "no job has this benchmark any more");
    return;
  }
  ReplayStep(context, item, *benchmark, jobs).run();
}

}  // namespace understudy::fleet
