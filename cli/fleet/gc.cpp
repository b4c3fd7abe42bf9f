#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "cli/common/output.h"
#include "cli/common/output_path.h"
#include "cli/common/run_main.h"
#include "commands.h"
#include "et_schema/base/figures.h"
#include "fleet/database/connection.h"
#include "fleet/database/schema.h"
#include "fleet/objects/object_store.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/events.h"
#include "fleet/records/jobs.h"
#include "fleet/records/nights.h"
#include "fleet/records/results.h"

namespace understudy::cli {
namespace {

// Younger objects may belong to work in progress.
constexpr double kLeastAgeSeconds = 3600;

struct GcArguments {
  std::string url;
  std::string store;
  std::string backup;
  std::size_t keep_nights = 0;
  bool dry_run = false;
  bool quiet = false;
};

GcArguments read_gc_arguments(int argc, char** argv) {
  GcArguments arguments;
  CommandLine line({.name = "understudy fleet gc",
                    .description = "Deletes what nothing refers to: benchmarks that are no job's "
                                   "current or first one and have no result, and files that killed "
                                   "workers left. Results and their figures are never deleted.",
                    .examples = R"(  understudy fleet gc fleet.db --dry-run
  understudy fleet gc fleet.db --keep-nights 90         deletes older nights' reports; their
                                                        figures stay
  understudy fleet gc fleet.db --backup fleet.copy.db   a copy first, while others write)",
                    .failure = "something could not be deleted"});
  add_database_option(line, arguments.url);
  line.add("--store DIR", arguments.store, "The store's folder (default: the remembered one)");
  line.add_number("--keep-nights N", arguments.keep_nights, 1, 1'000'000,
                  "Delete reports of nights before the last N");
  line.begin(FlagGroup::kOutput);
  line.add("--backup FILE", arguments.backup, "Copy the database to this file first");
  line.add_flag("--dry-run", arguments.dry_run, "Only say what would be deleted");
  line.add_quiet(arguments.quiet, "no text on standard output");
  line.parse(argc, argv);
  return arguments;
}

/// Returns the benchmarks that have no result and are neither the current nor the first benchmark
/// of a job.
std::vector<fleet::Benchmark> unused_benchmarks(fleet::Connection& connection) {
  std::set<std::string> first;  // `fleet drift` compares jobs with these
  const std::map<std::string, std::string> first_of = fleet::first_benchmarks(connection);
  for (const fleet::Job& job : fleet::all_jobs(connection)) {
    if (const auto found = first_of.find(job.name); found != first_of.end()) {
      first.insert(found->second);
    }
  }
  std::set<std::int64_t> used;
  for (const fleet::Row& row : connection.query(
           "SELECT b.id FROM benchmark b WHERE EXISTS (SELECT 1 FROM job j WHERE j.benchmark = "
           "b.id) OR EXISTS (SELECT 1 FROM result r WHERE r.benchmark_hash = b.benchmark_hash)")) {
    used.insert(row.integer(0));
  }
  std::vector<fleet::Benchmark> unused = fleet::all_benchmarks(connection);
  std::erase_if(unused, [&](const fleet::Benchmark& row) {
    return used.contains(row.id) || first.contains(row.benchmark_hash);
  });
  return unused;
}

std::set<std::string> referred_objects(fleet::Connection& connection) {
  std::set<std::string> objects;
  for (const fleet::Benchmark& benchmark : fleet::all_benchmarks(connection)) {
    objects.insert(benchmark.object);
  }
  for (std::string& object : fleet::report_objects(connection)) {
    objects.insert(std::move(object));
  }
  return objects;
}

bool is_old(const std::filesystem::path& path) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  const auto age = std::filesystem::file_time_type::clock::now() - written;
  return !error && std::chrono::duration<double>(age).count() >= kLeastAgeSeconds;
}

/// Thrown to roll back a transaction that only counted.
class TakenBack {};

struct Freed {
  std::size_t benchmarks = 0;
  std::size_t reports = 0;
  std::size_t objects = 0;
  std::uint64_t bytes = 0;
};

/// Deletes rows first, in one transaction, then files. A file without a row is found again; a row
/// without its file would be a loss.
Freed collect(fleet::Connection& connection, const fleet::ObjectStore& store,
              const GcArguments& arguments) {
  Freed freed;
  std::set<std::string> referred;
  const auto forget = [&] {
    freed = {};
    if (arguments.keep_nights > 0) {
      const auto nights = fleet::last_nights(connection, arguments.keep_nights);
      freed.reports = nights.empty() ? 0 : fleet::forget_reports(connection, nights.back().id);
    }
    const std::vector<fleet::Benchmark> unused = unused_benchmarks(connection);
    for (const fleet::Benchmark& benchmark : unused) {
      fleet::remove_benchmark(connection, benchmark.id);
    }
    freed.benchmarks = unused.size();
    referred = referred_objects(connection);
    if (arguments.dry_run) {
      throw TakenBack{};
    }
  };
  try {
    fleet::in_transaction(connection, forget);
  } catch (const TakenBack&) {
    // A dry run only counts.
  }
  for (const fleet::StoredObject& object : store.list()) {
    if (!referred.contains(object.hash) && is_old(object.path)) {
      ++freed.objects;
      freed.bytes += object.bytes;
      if (!arguments.dry_run) {
        store.remove(object.hash);
      }
    }
  }
  const fleet::Leftovers left = store.remove_leftovers(kLeastAgeSeconds, arguments.dry_run);
  freed.objects += left.files;
  freed.bytes += left.bytes;
  return freed;
}

int fleet_gc(int argc, char** argv) {
  const GcArguments arguments = read_gc_arguments(argc, argv);
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  const fleet::ObjectStore store = open_store(*connection, arguments.store);
  if (!arguments.backup.empty()) {
    refuse_output(arguments.backup, {arguments.url}, "--backup");
    connection->back_up(arguments.backup);
  }
  const Freed freed = collect(*connection, store, arguments);
  if (!arguments.quiet) {
    print_output(fmt::format("{} {} benchmarks and {} reports: {} files, {}\n",
                             arguments.dry_run ? "Would delete" : "Deleted", freed.benchmarks,
                             freed.reports, freed.objects, et_schema::with_bytes(freed.bytes)));
  }
  return kStatusOk;
}

const Verb kGc("fleet gc", "Deletes what nothing refers to; copies the database",
               on_database<fleet_gc>);

}  // namespace
}  // namespace understudy::cli
