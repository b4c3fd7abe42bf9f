#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/common/command_line.h"
#include "cli/common/output_path.h"
#include "cli/pages/document/walked.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/output_file.h"
#include "fleet/analysis/numerics.h"
#include "fleet/analysis/selection.h"
#include "rows.h"
#include "tasks.h"

namespace understudy::fleet {

using et_schema::CellKind;

void members(auto& walk, et_schema::SameAs<SelectedJob> auto& row) {
  walk("job", row.job, "job");
  walk("benchmark_hash", row.benchmark_hash, "benchmark");
  walk("weight", row.weight, "weight");
  walk("low", row.low, "from");
  walk("high", row.high, "to");
}

void members(auto& walk, et_schema::SameAs<RatioCheck> auto& row) {
  walk("platform", row.platform, "platform");
  walk("baseline", row.baseline, "against");
  walk("chosen_on", row.was_chosen_on, "chosen on", CellKind::kText);
  walk("fleet", row.fleet, "fleet", CellKind::kRatio);
  walk("subset", row.subset, "subset", CellKind::kRatio);
  walk("error", row.error, "error", CellKind::kShare);
  walk("random_median", row.random_median, "random, median", CellKind::kShare);
  walk("random_p90", row.random_p90, "random, p90", CellKind::kShare);
}

}  // namespace understudy::fleet

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::facts_at, pages::shares, pages::table_at;

constexpr double kSecondsPerMinute = 60;

struct SelectRequest {
  std::string budget;                  ///< "20" (jobs) or "30m" (time of replays)
  double max_error = 0;                ///< 0: none
  std::vector<std::string> platforms;  ///< the first gives times; the others choose, too
  std::uint64_t seed = 1;
  std::vector<BenchmarkRow> benchmarks;
};

void members(auto& json, et_schema::SameAs<SelectRequest> auto& request) {
  json("budget", request.budget);
  json("max_error", request.max_error, et_schema::kNotNegative);
  json("platforms", request.platforms);
  json("seed", request.seed);
  json("benchmarks", request.benchmarks);
}

void set_budget(const std::string& budget, fleet::SelectionOptions& options) {
  const bool is_time = budget.ends_with('m');
  const double value =
      parse_number(budget.substr(0, budget.size() - (is_time ? 1 : 0))).value_or(0);
  constexpr double kMost = 1e9;
  const bool is_right = value > 0 && value <= kMost && (is_time || value == std::floor(value));
  refuse_if(!is_right, "the budget cannot be read", "--budget",
            "a number of jobs (20), or minutes (30m)", budget);
  if (is_time) {
    options.most_seconds = value * kSecondsPerMinute;
  } else {
    options.most_jobs = static_cast<std::size_t>(value);
  }
}

fleet::SelectionOptions options_of(const SelectRequest& request) {
  fleet::SelectionOptions options{.max_error = request.max_error, .seed = request.seed};
  set_budget(request.budget, options);
  if (!request.platforms.empty()) {
    options.baseline = request.platforms.front();
  }
  if (request.platforms.size() > 1) {
    options.choose_on = request.platforms;
  }
  return options;
}

/// Throws if a platform has no replays: nothing could be selected.
void check_platform(const std::vector<BenchmarkRow>& rows, const std::string& platform) {
  const std::set<std::string> names = fleet::names_in(rows, &BenchmarkRow::times);
  refuse_if(!names.contains(platform), "the platform has no results of the jobs' benchmarks",
            "--platform",
            names.empty() ? "a platform with results" : fmt::format("{}", fmt::join(names, ", ")),
            platform, "understudy fleet nightly on that platform, or another one");
}

void check_choice(const std::vector<fleet::Candidate>& all,
                  const std::vector<std::string>& choose_on) {
  for (const std::string& platform : choose_on) {
    const auto lacks = [&](const fleet::Candidate& row) {
      return !row.platform_ms.contains(platform);
    };
    const auto count = std::ranges::count_if(all, lacks);
    if (count > 0) {
      throw et_schema::usage_error(
          "some jobs have no result on a platform that is to choose",
          {.field = "--platform",
           .expected = fmt::format("results of all {} jobs on {}", all.size(), platform),
           .got = fmt::format("none of {}{}", std::ranges::find_if(all, lacks)->job,
                              count == 1 ? "" : fmt::format(" and {} more", count - 1)),
           .hint = "jobs without a result on the first of the platforms are left out"});
    }
  }
}

Json json_of(const fleet::Selection& selection, std::size_t all, std::size_t left_out) {
  return {{"format", "understudy-fleet-subset"},
          {"version", 1},
          {"of_jobs", all},
          {"left_out", left_out},
          {"mix_distance", selection.mix_distance},
          {"random_mix_distance", selection.random_mix_distance},
          {"error", selection.error},
          {"met_max_error", selection.met_max_error},
          {"replay_s", selection.cost_s},
          {"jobs", et_schema::json_of(selection.jobs)},
          {"checks", et_schema::json_of(selection.checks)}};
}

pages::Page selection_page(const fleet::Selection& selection, std::size_t all, std::size_t left_out,
                           const std::string& time_on) {
  const Json document = json_of(selection, all, left_out);
  pages::Page page;
  page.title = fmt::format("{} of {} jobs; about {:.0f} min of replays", selection.jobs.size(), all,
                           std::ceil(selection.cost_s / kSecondsPerMinute));
  if (left_out > 0) {
    page.verdict.findings.push_back(
        fmt::format("{} more without a result on {} left out.", left_out, time_on));
  }
  if (selection.checks.empty()) {
    page.verdict.findings.emplace_back(
        "No two platforms have results of all these jobs: no ratio could be checked.");
  }
  page.sections = {
      {"jobs",
       "Jobs",
       {table_at(document, "/jobs", "Jobs, with the 95 % interval of their weights",
                 pages::columns_of<fleet::SelectedJob>())}},
      {"mix",
       "Time by class of operators, apart from the fleet's",
       {facts_at(document, "",
                 {shares("of the subset", "mix_distance"),
                  shares("of random subsets", "random_mix_distance")})}},
      {"checks",
       "Ratios of platforms",
       {table_at(document, "/checks", "Ratios of platforms: the fleet's, and what the subset says",
                 pages::columns_of<fleet::RatioCheck>())}}};
  return made_by("fleet", std::move(page), document, "subset.json", 1);
}

/// Quotes a text as JSON, which is also valid YAML.
std::string yaml_quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string yaml_of(const fleet::Selection& selection, std::size_t all) {
  std::string text = fmt::format(
      "format: understudy-fleet-subset\nversion: 1\nof_jobs: {}\nmix_distance: {:.6f}\nerror: "
      "{:.6f}\njobs:\n",
      all, selection.mix_distance, selection.error);
  for (const fleet::SelectedJob& job : selection.jobs) {
    text += fmt::format(
        "  - name: {}\n    benchmark_hash: \"{}\"\n    weight: {:.6f}\n    low: {:.6f}\n    high: "
        "{:.6f}\n",
        yaml_quoted(job.job), job.benchmark_hash, job.weight, job.low, job.high);
  }
  return text;
}

}  // namespace

/// Selects a few jobs that represent all. Writes them to a file, too (YAML).
Answer select_task(std::istream& text, const TaskOptions& asked) {
  if (!asked.output.empty()) {
    refuse_output(asked.output, {}, "--output");
  }
  const auto request = request_in<SelectRequest>(all_of(text));
  const fleet::SelectionOptions options = options_of(request);
  for (const std::string& platform : request.platforms) {
    check_platform(request.benchmarks, platform);
  }
  const std::vector<fleet::Candidate> all = candidates(request.benchmarks, options.baseline);
  const std::size_t left_out = request.benchmarks.size() - all.size();
  check_choice(all, options.choose_on);
  const fleet::Selection selection = fleet::select_jobs(all, options);
  if (!asked.output.empty()) {
    et_schema::write_file_atomically(asked.output, yaml_of(selection, all.size()));
  }
  Answer answer{pages::written(selection_page(selection, all.size(), left_out, options.baseline),
                               asked.format)};
  if (!selection.met_max_error) {
    answer.error = et_schema::run_failed("the subset's error is above --max-error",
                                         {.expected = et_schema::percent_text(options.max_error),
                                          .got = et_schema::percent_text(selection.error),
                                          .hint = "give it a larger --budget"});
  }
  return answer;
}

}  // namespace understudy::cli
