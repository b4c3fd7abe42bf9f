#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "cli/pages/document/from_json.h"
#include "commands.h"
#include "et_schema/base/error.h"
#include "fleet/database/schema.h"
#include "fleet/fingerprint/fingerprint.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::figures, pages::table_at, pages::texts;

struct DriftArguments {
  std::string url;
  double above = fleet::kDriftAbove;
  bool all = false;
  bool quiet = false;
  Format format = Format::kText;
};

DriftArguments read_drift_arguments(int argc, char** argv) {
  DriftArguments arguments;
  CommandLine line(
      {.name = "understudy fleet drift",
       .description = "Compares each job's newest benchmark with its first one: how far its work "
                      "has drifted, from 0 (the same) to 1 (nothing in common), and in what.",
       .examples =
           R"(  understudy fleet drift fleet.db                 jobs that drifted, the farthest first
  understudy fleet drift fleet.db --all           the others, too)",
       .success = "no job drifted beyond --above",
       .failure = "some did"});
  add_database_option(line, arguments.url);
  line.begin(FlagGroup::kMeasurement);
  line.add_number("--above D", arguments.above, 0.0, 1.0,
                  "Distance at which a job has drifted, 0 to 1");
  line.add_format(arguments.format);
  line.add_flag("--all", arguments.all, "Also show jobs that did not drift");
  line.add_quiet(arguments.quiet, "no text, only the exit status");
  line.parse(argc, argv);
  return arguments;
}

struct DriftRow {
  std::string job;
  std::string from, to;  ///< benchmark hashes
  fleet::Drift drift;
};

fleet::Fingerprint print_of(const fleet::Benchmark& benchmark) {
  return fleet::parse_fingerprint(benchmark.fingerprint, benchmark.benchmark_hash);
}

std::vector<DriftRow> rows_of(fleet::Connection& connection) {
  std::map<std::int64_t, fleet::Benchmark> current;
  for (fleet::Benchmark& benchmark : fleet::current_benchmarks(connection)) {
    current.emplace(benchmark.id, std::move(benchmark));
  }
  const std::map<std::string, std::string> first_of = fleet::first_benchmarks(connection);
  std::vector<DriftRow> rows;
  for (const fleet::Job& job : fleet::all_jobs(connection)) {
    const auto now = current.find(job.benchmark);
    if (now == current.end()) {
      continue;
    }
    const std::string hash = now->second.benchmark_hash;
    const auto found = first_of.find(job.name);
    const std::string first = found == first_of.end() ? hash : found->second;
    DriftRow row{job.name, first, hash, {}};
    if (first != hash) {
      if (const auto before = fleet::find_benchmark_by_hash(connection, first)) {
        row.drift = fleet::drift_between(print_of(*before), print_of(now->second));
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json json_of(const std::vector<DriftRow>& rows, double above) {
  Json list = Json::array();
  for (const DriftRow& row : rows) {
    Json moves = Json::array();
    for (const fleet::Move& move : row.drift.moves) {
      moves.push_back({{"part", move.part}, {"distance", move.distance}, {"text", move.text}});
    }
    list.push_back({{"job", row.job},
                    {"from", row.from},
                    {"to", row.to},
                    {"distance", row.drift.distance},
                    {"drifted", row.drift.distance > above},
                    {"text", fleet::sentence_of(row.drift)},
                    {"moves", std::move(moves)}});
  }
  return {{"format", "understudy-fleet-drift"},
          {"version", 1},
          {"above", above},
          {"jobs", std::move(list)}};
}

pages::Page drift_page(const std::vector<DriftRow>& rows, std::size_t all, double above) {
  const Json document = json_of(rows, above);
  pages::Page page;
  page.title = fmt::format("{} job{}, {}", all, all == 1 ? "" : "s",
                           rows.empty() ? "none moved" : fmt::format("{} shown", rows.size()));
  page.sections = {{"drift",
                    "How far work has drifted, from 0 to 1",
                    {table_at(document, "/jobs", "How far work has drifted, from 0 to 1",
                              {texts("job"), figures("distance"), texts("drifted"),
                               texts("what moved", "text")})}}};
  return made_by("fleet", std::move(page), document, "drift.json", 1);
}

int fleet_drift(int argc, char** argv) {
  const DriftArguments arguments = read_drift_arguments(argc, argv);
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  std::vector<DriftRow> rows = rows_of(*connection);
  const std::size_t all = rows.size();
  if (!arguments.all) {
    std::erase_if(rows, [](const DriftRow& row) { return row.drift.distance <= 0; });
  }
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const DriftRow& row) { return row.drift.distance; });
  pages::show(drift_page(rows, all, arguments.above), arguments.format, arguments.quiet);
  const bool has_drifted = std::ranges::any_of(
      rows, [&](const DriftRow& row) { return row.drift.distance > arguments.above; });
  return has_drifted ? static_cast<int>(et_schema::ErrorKind::kFailed) : kStatusOk;
}

const Verb kDrift("fleet drift", "Shows jobs whose work has drifted, and in what",
                  on_database<fleet_drift>);

}  // namespace
}  // namespace understudy::cli
