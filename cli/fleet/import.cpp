#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/output.h"
#include "common/run_main.h"
#include "et_schema/model/op_class.h"
#include "et_schema/support/error.h"
#include "et_schema/support/json_fields.h"
#include "et_schema/support/read_file.h"
#include "fleet/commands.h"
#include "fleet/database/schema.h"
#include "fleet/database/transaction.h"
#include "fleet/process/node.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/jobs.h"
#include "fleet/records/results.h"

namespace understudy::cli {
namespace {

constexpr const char* kPrediction = "understudy-prediction";
constexpr int kPredictionVersion = 1;
// A prediction's interval is of 90 %; ours are of 95 %.
constexpr double kTo95 = 1.959964 / 1.644854;

struct ImportArguments {
  std::string url;
  std::string platform;
  std::string job;
  std::vector<std::string> files;
  bool quiet = false;
};

ImportArguments read_import_arguments(int argc, char** argv) {
  ImportArguments arguments;
  const auto app =
      make_app({.name = "fleet import",
                .description = "Imports predictions (`predict --report`) of jobs' benchmarks for a "
                               "platform that was not run. They fill in for results, marked as "
                               "predicted, until that platform is measured.",
                .examples = "  fleet import fleet.db ads.json --platform h200 --job ads-ranker\n",
                .failure = "nothing was imported"});
  add_database_option(*app, arguments.url);
  app->add_option("FILE", arguments.files, "Predictions")->required();
  app->add_option("--platform", arguments.platform, "The platform that they are for")
      ->required()
      ->type_name("NAME");
  app->add_option("--job", arguments.job,
                  "The job whose benchmark was predicted, if the file has no benchmark_hash")
      ->type_name("JOB");
  add_quiet_option(*app, arguments.quiet, "no text on standard output");
  parse_arguments(*app, argc, argv);
  return arguments;
}

std::string hash_of_job(fleet::Connection& connection, const std::string& name) {
  const std::vector<fleet::Job> jobs = fleet::all_jobs(connection);
  const auto job = std::ranges::find(jobs, name, &fleet::Job::name);
  const auto found =
      job == jobs.end() ? std::nullopt : fleet::find_benchmark(connection, job->benchmark);
  if (!found) {
    throw et_schema::usage_error("the job has no benchmark",
                                 {.field = "--job", .got = name, .hint = "fleet jobs lists them"});
  }
  return found->benchmark_hash;
}

fleet::Result read_prediction(fleet::Connection& connection, const ImportArguments& arguments,
                              const std::string& file) {
  const et_schema::JsonSource source{file, "the prediction cannot be read",
                                     "make it with `predict --report`"};
  const nlohmann::json document =
      et_schema::parse_json(et_schema::read_file(file, et_schema::process_limits()), source);
  const et_schema::JsonField root(document, source);
  et_schema::check_format(root, {"prediction", kPrediction, kPredictionVersion}, file, "");
  const et_schema::JsonField time = root.at("iteration_ms");
  fleet::Result result;
  result.source = fleet::kPredicted;
  result.platform = arguments.platform;
  result.date_utc = fleet::now_utc();
  result.median_ms = time.at("predicted").as_double();
  const double low = time.at("low").as_double();
  const double high = time.at("high").as_double();
  if (!(result.median_ms > 0) || !(low > 0) || low > result.median_ms || high < result.median_ms) {
    time.fail("a time above 0 between its low and its high");
  }
  result.low_ms = result.median_ms * std::pow(low / result.median_ms, kTo95);
  result.high_ms = result.median_ms * std::pow(high / result.median_ms, kTo95);
  result.coverage = std::numeric_limits<double>::quiet_NaN();
  if (const auto operators = root.find("operators")) {
    for (const et_schema::JsonField& row : operators->items()) {
      result.class_ms[std::string(et_schema::op_class(row.at("name").as_text()))] +=
          row.at("ms").as_double();
    }
  }
  const auto hash = root.find("benchmark_hash");
  if (!hash && arguments.job.empty()) {
    throw et_schema::usage_error("the prediction names no benchmark",
                                 {.file = file,
                                  .field = "--job",
                                  .expected = "a job's name",
                                  .hint = "the file has no benchmark_hash"});
  }
  result.benchmark_hash =
      arguments.job.empty() ? hash->as_text() : hash_of_job(connection, arguments.job);
  if (hash && hash->as_text() != result.benchmark_hash) {
    throw et_schema::usage_error("the prediction is of another benchmark",
                                 {.file = file,
                                  .field = "benchmark_hash",
                                  .expected = result.benchmark_hash + ", of " + arguments.job,
                                  .got = hash->as_text()});
  }
  if (!fleet::find_benchmark_by_hash(connection, result.benchmark_hash)) {
    throw et_schema::usage_error("no job has the benchmark that was predicted",
                                 {.file = file,
                                  .field = "benchmark_hash",
                                  .expected = "one that `fleet jobs` lists",
                                  .got = result.benchmark_hash,
                                  .hint = "predict the benchmark that the job has in the store"});
  }
  return result;
}

}  // namespace

int fleet_import(int argc, char** argv) {
  const ImportArguments arguments = read_import_arguments(argc, argv);
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  std::vector<fleet::Result> results;
  for (const std::string& file : arguments.files) {
    results.push_back(read_prediction(*connection, arguments, file));
  }
  fleet::in_transaction(*connection, [&] {
    const std::int64_t environment =
        fleet::put_environment(*connection, "prediction", R"({"source":"prediction"})");
    for (fleet::Result& result : results) {
      result.environment = environment;
      fleet::put_result(*connection, result);
    }
  });
  if (!arguments.quiet) {
    print_output(fmt::format("{} prediction{} for {}\n", results.size(),
                             results.size() == 1 ? "" : "s", arguments.platform));
  }
  return kStatusOk;
}

}  // namespace understudy::cli
