#include "fleet/records/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "common/json_csv.h"
#include "common/output.h"
#include "common/run_main.h"
#include "common/table.h"
#include "fleet/commands.h"
#include "fleet/database/schema.h"
#include "fleet/nightly/failing_replays.h"
#include "fleet/records/benchmarks.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
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

std::string tags_text(const fleet::Job& job) {
  std::string text;
  for (const auto& [name, value] : job.tags) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

TextTable table_of(const Listing& listing) {
  TextTable table({{"job"},
                   {"weight", Alignment::kRight},
                   {"state"},
                   {"benchmark"},
                   {"ranks", Alignment::kRight},
                   {"bytes", Alignment::kRight},
                   {"tags"}});
  for (const fleet::Job& job : listing.jobs) {
    const fleet::Benchmark* benchmark = benchmark_among(job, listing.benchmarks);
    table.add({job.name, fmt::format("{:g}", job.weight), state_text(job, listing.failing_of(job)),
               benchmark == nullptr ? "" : benchmark->benchmark_hash,
               benchmark == nullptr ? "" : std::to_string(benchmark->world_size),
               benchmark == nullptr ? "" : std::to_string(benchmark->bytes), tags_text(job)});
  }
  return table;
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
    list.push_back(std::move(row));
  }
  return {{"format", "understudy-fleet-jobs"}, {"version", 1}, {"jobs", std::move(list)}};
}

}  // namespace

int fleet_jobs(int argc, char** argv) {
  std::string url;
  Format format = Format::kText;
  const auto app = make_app(
      {.name = "fleet jobs",
       .description = "Lists the jobs: weight, tags, benchmark, and what is broken or fails "
                      "to replay.",
       .examples = "  fleet jobs fleet.db\n"
                   "  fleet jobs fleet.db --format json\n",
       .failure = "the database failed"});
  add_database_option(*app, url);
  add_format_option(*app, format);
  parse_arguments(*app, argc, argv);
  const auto connection = fleet::open_fleet(url, fleet::Opening::kExisting);
  Listing listing;
  listing.jobs = fleet::all_jobs(*connection);
  for (fleet::Benchmark& benchmark : fleet::all_benchmarks(*connection)) {
    listing.benchmarks.emplace(benchmark.id, std::move(benchmark));
  }
  listing.failing = failing_by_hash(*connection, listing.benchmarks);
  const auto text = [&] {
    return listing.jobs.empty() ? fmt::format("No jobs. Add some: fleet add {} TRACES\n",
                                              fleet::without_password(url))
                                : table_of(listing).to_text();
  };
  print_output(format == Format::kCsv ? table_of(listing).to_csv()
                                      : as_asked(format, json_of(listing), text, 1));
  return kStatusOk;
}

}  // namespace understudy::cli
