#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/pages/document/from_json.h"
#include "commands.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/bench/bench.h"
#include "fleet/database/schema.h"
#include "fleet/objects/object_store.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/jobs.h"
#include "fleet/records/results.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::table_at, pages::texts;

struct Fault {
  std::string object;
  std::string path;
  std::string what;
  std::string of;
};

class Verifier {
 public:
  Verifier(fleet::Connection& connection, const fleet::ObjectStore& store, Progress& progress)
      : connection_(connection), store_(store), progress_(progress) {}

  std::vector<Fault> run() {
    for (const fleet::Benchmark& benchmark : fleet::all_benchmarks(connection_)) {
      const std::vector<fleet::Job> jobs = fleet::jobs_of_benchmark(connection_, benchmark.id);
      check(benchmark.object, "benchmark " + benchmark.benchmark_hash +
                                  (jobs.empty() ? "" : " of " + jobs.front().name));
      check_benchmark(benchmark);
    }
    for (const std::string& report : fleet::report_objects(connection_)) {
      check(report, "report");
      if (!faults_.empty() && faults_.back().object == report) {
        faults_.back().of = report_of(report);
      }
    }
    for (const fleet::StoredObject& object : store_.list()) {
      if (!seen_.contains(object.hash)) {
        ++unreferred_;
        check(object.hash, "nothing");
      }
    }
    return faults_;
  }

  [[nodiscard]] std::size_t checked() const { return seen_.size(); }
  [[nodiscard]] std::size_t unreferred() const { return unreferred_; }

 private:
  void check(const std::string& object, const std::string& of) {
    if (!seen_.insert(object).second) {
      return;
    }
    progress_.show({.phase = "objects", .done = seen_.size()});
    if (const std::string fault = store_.fault_of(object); !fault.empty()) {
      faults_.push_back({object, store_.path_of(object).string(), fault, of});
    }
  }

  /// Describes the report in an object by its job, platform and night, from the database.
  std::string report_of(const std::string& object) {
    const fleet::Rows rows = connection_.query(
        "SELECT benchmark_hash, platform, night FROM result WHERE report = $1 ORDER BY id LIMIT 1",
        {object});
    if (rows.empty()) {
      return "report";
    }
    const std::vector<fleet::Job> jobs =
        fleet::jobs_of_benchmark_hash(connection_, rows.front().text(0));
    return fmt::format("report of {} on {}, night {}",
                       jobs.empty() ? "benchmark " + rows.front().text(0) : jobs.front().name,
                       rows.front().text(1), rows.front().integer(2));
  }

  /// Checks that an intact file holds the benchmark that the database records for it.
  void check_benchmark(const fleet::Benchmark& row) {
    if (!store_.fault_of(row.object).empty()) {
      return;  // already reported
    }
    std::string what;
    try {
      const std::string bytes = store_.read(row.object);
      const auto bench = et_schema::read_bench_bytes(bytes, store_.path_of(row.object).string());
      if (et_schema::benchmark_hash(bench) != row.benchmark_hash) {
        what = "another benchmark than the database says";
      }
    } catch (const et_schema::Error& error) {
      what = error.summary();
    }
    if (!what.empty()) {
      faults_.push_back({row.object, store_.path_of(row.object).string(), what,
                         "benchmark " + row.benchmark_hash});
    }
  }

  fleet::Connection& connection_;
  const fleet::ObjectStore& store_;
  Progress& progress_;
  std::set<std::string> seen_;
  std::size_t unreferred_ = 0;
  std::vector<Fault> faults_;
};

Json json_of(const Verifier& verifier, const std::vector<Fault>& faults) {
  Json list = Json::array();
  for (const Fault& fault : faults) {
    list.push_back(
        {{"object", fault.object}, {"path", fault.path}, {"what", fault.what}, {"of", fault.of}});
  }
  return {{"format", "understudy-fleet-verify"},
          {"version", 1},
          {"checked", verifier.checked()},
          {"unreferred", verifier.unreferred()},
          {"faults", std::move(list)}};
}

pages::Page verify_page(const Verifier& verifier, const std::vector<Fault>& faults) {
  const Json document = json_of(verifier, faults);
  pages::Page page;
  page.title = fmt::format("{} objects, {} that nothing refers to", verifier.checked(),
                           verifier.unreferred());
  page.verdict.tone = faults.empty() ? pages::Tone::kGood : pages::Tone::kBad;
  page.verdict.sentence = faults.empty() ? std::string("All are whole.")
                                         : fmt::format("{} are NOT whole.", faults.size());
  pages::Section section{"faults",
                         "What is not whole",
                         {table_at(document, "/faults", "What is not whole",
                                   {texts("path"), texts("what"), texts("of")})}};
  if (!faults.empty()) {
    section.blocks.emplace_back(pages::Notes{
        {"A night that replays makes its jobs' benchmarks anew. Of a lost report the figures stay; "
         "`understudy fleet gc --keep-nights N` lets go of those before the last N nights."}});
  }
  page.sections = {std::move(section)};
  return made_by("fleet", std::move(page), document, "verify.json", 1);
}

int fleet_verify(int argc, char** argv) {
  std::string url;
  std::string store_name;
  Format format = Format::kText;
  bool quiet = false;
  CommandLine line({.name = "understudy fleet verify",
                    .description = "Reads all objects of the store and checks them against their "
                                   "hashes, and benchmarks against the database.",
                    .examples = R"(  understudy fleet verify fleet.db)",
                    .success = "nothing is damaged or missing",
                    .failure = "something is damaged or missing; each is named"});
  add_database_option(line, url);
  line.add("--store DIR", store_name, "The store's folder (default: the remembered one)");
  line.add_format(format);
  line.add_quiet(quiet, "the result is printed");
  line.parse(argc, argv);
  const auto connection = fleet::open_fleet(url, fleet::Opening::kExisting);
  const fleet::ObjectStore store = open_store(*connection, store_name);
  Progress progress(quiet);
  Verifier verifier(*connection, store, progress);
  const std::vector<Fault> faults = verifier.run();
  progress.clear();
  print_output(pages::written(verify_page(verifier, faults), format));
  return faults.empty() ? kStatusOk : static_cast<int>(et_schema::ErrorKind::kFailed);
}

const Verb kVerify("fleet verify", "Checks the hash of everything stored",
                   on_database<fleet_verify>);

}  // namespace
}  // namespace understudy::cli
