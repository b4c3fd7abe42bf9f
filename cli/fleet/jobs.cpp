#include "fleet/records/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "cli/pages/document/from_json.h"
#include "commands.h"
#include "fleet/database/schema.h"
#include "fleet/nightly/worker.h"
#include "fleet/records/benchmarks.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::counts, pages::figures, pages::table_at, pages::texts;
using Benchmarks = std::map<std::int64_t, fleet::Benchmark>;

/// By benchmark hash: jobs of one hash share their replays.
using Failing = std::multimap<std::string, fleet::FailingReplay>;

Failing failing_by_hash(fleet::Connection& connection, const Benchmarks& benchmarks) {
  Failing failing;
  for (fleet::FailingReplay& replay : fleet::failing_replays(connection)) {
    const auto benchmark = benchmarks.find(replay.benchmark);
    if (benchmark != benchmarks.end()) {
      failing.emplace(benchmark->second.benchmark_hash, std::move(replay));
    }
  }
  return failing;
}

const fleet::Benchmark* benchmark_among(const fleet::Job& job, const Benchmarks& benchmarks) {
  const auto found = benchmarks.find(job.benchmark);
  return found == benchmarks.end() ? nullptr : &found->second;
}

struct Listing {
  std::vector<fleet::Job> jobs;
  Benchmarks benchmarks;
  Failing failing;

  [[nodiscard]] std::vector<const fleet::FailingReplay*> failing_of(const fleet::Job& job) const {
    std::vector<const fleet::FailingReplay*> own;
    if (const fleet::Benchmark* benchmark = benchmark_among(job, benchmarks)) {
      const auto [begin, end] = failing.equal_range(benchmark->benchmark_hash);
      std::transform(begin, end, std::back_inserter(own),
                     [](const auto& entry) { return &entry.second; });
    }
    return own;
  }
};

std::string state_text(const fleet::Job& job,
                       const std::vector<const fleet::FailingReplay*>& failing) {
  if (!job.broken.empty()) {
    return fmt::format("broken since night {}", job.broken_night);
  }
  if (failing.empty()) {
    return job.benchmark == 0 ? "new" : "ok";
  }
  std::string text = "replay fails on ";
  for (const fleet::FailingReplay* replay : failing) {
    text += fmt::format("{}{} since night {}", replay == failing.front() ? "" : ", ",
                        replay->platform, replay->since_night);
  }
  return text;
}

Json json_of(const Listing& listing) {
  Json list = Json::array();
  for (const fleet::Job& job : listing.jobs) {
    const std::vector<const fleet::FailingReplay*> failing = listing.failing_of(job);
    Json row = {{"job", job.name},     {"path", job.path}, {"weight", job.weight},
                {"flags", job.flags},  {"tags", job.tags}, {"state", state_text(job, failing)},
                {"broken", job.broken}};
    row["failing_replays"] = Json::array();
    for (const fleet::FailingReplay* replay : failing) {
      row["failing_replays"].push_back({{"platform", replay->platform},
                                        {"since_night", replay->since_night},
                                        {"text", replay->text}});
    }
    const fleet::Benchmark* benchmark = benchmark_among(job, listing.benchmarks);
    row["benchmark_hash"] = benchmark == nullptr ? Json() : Json(benchmark->benchmark_hash);
    row["object"] = benchmark == nullptr ? Json() : Json(benchmark->object);
    row["ranks"] = benchmark == nullptr ? Json() : Json(benchmark->world_size);
    row["bytes"] = benchmark == nullptr ? Json() : Json(benchmark->bytes);
    list.push_back(std::move(row));
  }
  return {{"format", "understudy-fleet-jobs"}, {"version", 1}, {"jobs", std::move(list)}};
}

int fleet_jobs(int argc, char** argv) {
  std::string url;
  Format format = Format::kText;
  CommandLine line(
      {.name = "understudy fleet jobs",
       .description =
           "Lists the jobs: weight, tags, benchmark, and what is broken or fails to replay.",
       .examples = R"(  understudy fleet jobs fleet.db)",
       .failure = "the database failed"});
  add_database_option(line, url);
  line.add_format(format);
  line.parse(argc, argv);
  const auto connection = fleet::open_fleet(url, fleet::Opening::kExisting);
  Listing listing;
  listing.jobs = fleet::all_jobs(*connection);
  for (fleet::Benchmark& benchmark : fleet::all_benchmarks(*connection)) {
    listing.benchmarks.emplace(benchmark.id, std::move(benchmark));
  }
  listing.failing = failing_by_hash(*connection, listing.benchmarks);
  const Json document = json_of(listing);
  pages::Page page;
  page.title = "Jobs of the fleet";
  if (listing.jobs.empty()) {
    page.verdict.sentence = fmt::format("No jobs. Add some: understudy fleet add {} TRACES",
                                        fleet::without_password(url));
  }
  page.sections = {
      {"jobs",
       "Jobs",
       {table_at(document, "/jobs", "Jobs",
                 {texts("job"), figures("weight"), counts("ranks"), counts("bytes"),
                  texts("benchmark", "benchmark_hash"), texts("state"), texts("tags")})}}};
  set_data(page, document, "jobs.json", 1);
  print_output(pages::written(page, format));
  return kStatusOk;
}

const Verb kJobs("fleet jobs", "Lists the jobs and their state", on_database<fleet_jobs>);

}  // namespace
}  // namespace understudy::cli
