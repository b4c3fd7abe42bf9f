#include "fleet/records/jobs.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "common/output.h"
#include "common/run_main.h"
#include "common/table.h"
#include "fleet/commands.h"
#include "fleet/database/schema.h"
#include "fleet/records/benchmarks.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using Benchmarks = std::map<std::int64_t, fleet::Benchmark>;

const fleet::Benchmark* benchmark_among(const fleet::Job& job, const Benchmarks& benchmarks) {
  const auto found = benchmarks.find(job.benchmark);
  return found == benchmarks.end() ? nullptr : &found->second;
}

std::string state_text(const fleet::Job& job) {
  if (!job.broken.empty()) {
    return fmt::format("broken since night {}", job.broken_night);
  }
  return job.benchmark == 0 ? "new" : "ok";
}

std::string tags_text(const fleet::Job& job) {
  std::string text;
  for (const auto& [name, value] : job.tags) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

TextTable table_of(const std::vector<fleet::Job>& jobs, const Benchmarks& benchmarks) {
  TextTable table({{"job"},
                   {"weight", Alignment::kRight},
                   {"state"},
                   {"benchmark"},
                   {"ranks", Alignment::kRight},
                   {"bytes", Alignment::kRight},
                   {"tags"}});
  for (const fleet::Job& job : jobs) {
    const fleet::Benchmark* benchmark = benchmark_among(job, benchmarks);
    table.add({job.name, fmt::format("{:g}", job.weight), state_text(job),
               benchmark == nullptr ? "" : benchmark->benchmark_hash,
               benchmark == nullptr ? "" : std::to_string(benchmark->world_size),
               benchmark == nullptr ? "" : std::to_string(benchmark->bytes), tags_text(job)});
  }
  return table;
}

std::string json_of(const std::vector<fleet::Job>& jobs, const Benchmarks& benchmarks) {
  Json list = Json::array();
  for (const fleet::Job& job : jobs) {
    Json row = {{"job", job.name},     {"path", job.path}, {"weight", job.weight},
                {"flags", job.flags},  {"tags", job.tags}, {"state", state_text(job)},
                {"broken", job.broken}};
    const fleet::Benchmark* benchmark = benchmark_among(job, benchmarks);
    row["benchmark_hash"] = benchmark == nullptr ? Json() : Json(benchmark->benchmark_hash);
    row["object"] = benchmark == nullptr ? Json() : Json(benchmark->object);
    row["ranks"] = benchmark == nullptr ? Json() : Json(benchmark->world_size);
    list.push_back(std::move(row));
  }
  return Json{{"format", "understudy-fleet-jobs"}, {"version", 1}, {"jobs", std::move(list)}}.dump(
             1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace

int fleet_jobs(int argc, char** argv) {
  std::string url;
  Format format = Format::kText;
  const auto app = make_app({.name = "fleet jobs",
                             .description = "Lists the jobs: weight, tags, the benchmark that "
                                            "stands for each, and what is broken.",
                             .examples = "  fleet jobs fleet.db\n"
                                         "  fleet jobs fleet.db --format json\n",
                             .failure = "the database failed"});
  add_database_option(*app, url);
  add_format_option(*app, format);
  parse_arguments(*app, argc, argv);
  const auto connection = fleet::open_fleet(url, fleet::Opening::kExisting);
  const std::vector<fleet::Job> jobs = fleet::all_jobs(*connection);
  Benchmarks benchmarks;
  for (fleet::Benchmark& benchmark : fleet::all_benchmarks(*connection)) {
    benchmarks.emplace(benchmark.id, std::move(benchmark));
  }
  switch (format) {
    case Format::kText:
      print_output(jobs.empty() ? fmt::format("No jobs. Add some: fleet add {} TRACES\n", url)
                                : table_of(jobs, benchmarks).to_text());
      break;
    case Format::kJson:
      print_output(json_of(jobs, benchmarks));
      break;
    case Format::kCsv:
      print_output(table_of(jobs, benchmarks).to_csv());
      break;
  }
  return kStatusOk;
}

}  // namespace understudy::cli
