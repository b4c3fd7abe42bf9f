#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "candidates.h"
#include "cli/common/output.h"
#include "cli/common/output_path.h"
#include "cli/common/run_main.h"
#include "cli/pages/document/from_json.h"
#include "commands.h"
#include "et_schema/base/error.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/output_file.h"
#include "fleet/analysis/numerics.h"
#include "fleet/analysis/selection.h"
#include "fleet/database/schema.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::facts_at, pages::figures, pages::ratios, pages::shares, pages::table_at, pages::texts;

constexpr double kSecondsPerMinute = 60;

struct SelectArguments {
  std::string url;
  std::string budget;
  std::string output;
  std::vector<std::string> platforms;
  fleet::SelectionOptions options;
  Format format = Format::kText;
  bool quiet = false;
};

/// Parses "20" (jobs) or "30m" (time of replays).
void set_budget(SelectArguments& arguments) {
  std::size_t end = 0;
  double value = 0;
  try {
    value = std::stod(arguments.budget, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = arguments.budget.substr(end);
  constexpr double kMost = 1e9;
  const bool is_right = end > 0 && value > 0 && value <= kMost && (unit.empty() || unit == "m") &&
                        (unit == "m" || value == std::floor(value));
  refuse_if(!is_right, "the budget cannot be read", "--budget",
            "a number of jobs (20), or minutes (30m)", arguments.budget);
  if (unit == "m") {
    arguments.options.most_seconds = value * kSecondsPerMinute;
  } else {
    arguments.options.most_jobs = static_cast<std::size_t>(value);
  }
}

SelectArguments read_select_arguments(int argc, char** argv) {
  SelectArguments arguments;
  CommandLine line(
      {.name = "understudy fleet select",
       .description =
           "Selects a few jobs that represent all, with weights, and says how far to trust them: "
           "their mix of time by class against the fleet's, and their ratios on platforms that "
           "were not used to choose, beside those of random subsets.",
       .examples = R"(  understudy fleet select fleet.db --budget 20 -o subset.yaml
  understudy fleet select fleet.db --budget 30m --max-error 0.03 -o subset.yaml
                                       at most 30 minutes of replays; fewer jobs if they suffice
  understudy fleet select fleet.db --budget 10 --platform a100 h100)",
       .success = "the subset is within --max-error, or none was asked for",
       .failure = "it is not, within the budget"});
  add_database_option(line, arguments.url);
  line.begin(FlagGroup::kRuns);
  line.add("--budget N|Nm", arguments.budget, "Number of jobs (20), or minutes of replays (30m)")
      .required();
  line.add_number("--max-error E", arguments.options.max_error, 0.0, 1.0,
                  "Take no more jobs once the error is below this share (0.03)");
  line.add("--platform PLATFORM", arguments.platforms,
           "Weigh classes by times measured on the first (default: recorded times), and choose by "
           "the ratios of the others to it; platforms that are not named test the choice");
  line.add("--seed N", arguments.options.seed, "Seed of random subsets and intervals");
  line.begin(FlagGroup::kOutput);
  line.add("-o,--output FILE", arguments.output, "Write the subset to this file (YAML)");
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "no text on standard output");
  line.parse(argc, argv);
  set_budget(arguments);
  if (!arguments.platforms.empty()) {
    arguments.options.baseline = arguments.platforms.front();
  }
  if (arguments.platforms.size() > 1) {
    arguments.options.choose_on = arguments.platforms;
  }
  return arguments;
}

/// Throws if a platform has no replays: nothing could be selected.
void check_platform(const std::vector<fleet::PlatformRow>& rows, const std::string& platform) {
  const std::set<std::string> names = fleet::names_in(rows, &fleet::PlatformRow::times);
  if (!names.contains(platform)) {
    throw et_schema::usage_error(
        "the platform has no results of the jobs' benchmarks",
        {.field = "--platform",
         .expected =
             names.empty() ? "a platform with results" : fmt::format("{}", fmt::join(names, ", ")),
         .got = platform,
         .hint = "understudy fleet nightly on that platform, or another one"});
  }
}

void check_choice(const std::vector<fleet::Candidate>& all, const SelectArguments& arguments) {
  for (const std::string& platform : arguments.options.choose_on) {
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
  Json jobs = Json::array();
  for (const fleet::SelectedJob& job : selection.jobs) {
    jobs.push_back({{"job", job.job},
                    {"benchmark_hash", job.benchmark_hash},
                    {"weight", job.weight},
                    {"low", job.low},
                    {"high", job.high}});
  }
  Json checks = Json::array();
  for (const fleet::RatioCheck& check : selection.checks) {
    checks.push_back({{"platform", check.platform},
                      {"baseline", check.baseline},
                      {"chosen_on", check.was_chosen_on},
                      {"fleet", check.fleet},
                      {"subset", check.subset},
                      {"error", check.error},
                      {"random_median", check.random_median},
                      {"random_p90", check.random_p90}});
  }
  return {{"format", "understudy-fleet-subset"},
          {"version", 1},
          {"of_jobs", all},
          {"left_out", left_out},
          {"mix_distance", selection.mix_distance},
          {"random_mix_distance", selection.random_mix_distance},
          {"error", selection.error},
          {"met_max_error", selection.met_max_error},
          {"replay_s", selection.cost_s},
          {"jobs", std::move(jobs)},
          {"checks", std::move(checks)}};
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
                 {texts("job"), figures("weight"), figures("from", "low"), figures("to", "high"),
                  texts("benchmark", "benchmark_hash")})}},
      {"mix",
       "Time by class of operators, apart from the fleet's",
       {facts_at(document, "",
                 {shares("of the subset", "mix_distance"),
                  shares("of random subsets", "random_mix_distance")})}},
      {"checks",
       "Ratios of platforms",
       {table_at(document, "/checks", "Ratios of platforms: the fleet's, and what the subset says",
                 {texts("platform"), texts("against", "baseline"), ratios("fleet"),
                  ratios("subset"), shares("error"), shares("random, median", "random_median"),
                  shares("random, p90", "random_p90"), texts("chosen on", "chosen_on")})}}};
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

int fleet_select(int argc, char** argv) {
  const SelectArguments arguments = read_select_arguments(argc, argv);
  if (!arguments.output.empty()) {
    refuse_output(arguments.output, {arguments.url}, "--output");
  }
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  const std::vector<fleet::PlatformRow> rows = platform_rows(*connection);
  for (const std::string& platform : arguments.platforms) {
    check_platform(rows, platform);
  }
  const std::vector<fleet::Candidate> all = candidates(*connection, arguments.options.baseline);
  const std::size_t left_out = rows.size() - all.size();
  check_choice(all, arguments);
  const fleet::Selection selection = fleet::select_jobs(all, arguments.options);
  if (!arguments.output.empty()) {
    et_schema::write_file_atomically(arguments.output, yaml_of(selection, all.size()));
  }
  if (!arguments.quiet || arguments.format != Format::kText) {
    print_output(
        pages::written(selection_page(selection, all.size(), left_out, arguments.options.baseline),
                       arguments.format));
  }
  if (!selection.met_max_error) {
    throw et_schema::run_failed("the subset's error is above --max-error",
                                {.expected = et_schema::percent_text(arguments.options.max_error),
                                 .got = et_schema::percent_text(selection.error),
                                 .hint = "give it a larger --budget"});
  }
  return kStatusOk;
}

const Verb kSelect("fleet select", "Selects a few jobs that represent all",
                   on_database<fleet_select>);

}  // namespace
}  // namespace understudy::cli
