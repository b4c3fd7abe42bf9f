#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "commands.h"
#include "et_schema/base/error.h"
#include "et_schema/base/read_file.h"
#include "et_schema/formats/prediction/prediction.h"
#include "et_schema/model/op_class.h"
#include "fleet/database/connection.h"
#include "fleet/database/schema.h"
#include "fleet/process/node.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/results.h"

namespace understudy::cli {
namespace {

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
  CommandLine line(
      {.name = "fleet import",
       .description = "Imports predictions (`predict --report`) of jobs' benchmarks for a platform "
                      "that was not run. They fill in for results, marked as predicted, until that "
                      "platform is measured.",
       .examples = "  fleet import fleet.db ads.json --platform h200 --job ads-ranker\n",
       .failure = "nothing was imported"});
  add_database_option(line, arguments.url);
  line.add("FILE", arguments.files, "Predictions").required();
  line.add("--platform NAME", arguments.platform, "The platform that they are for").required();
  line.add("--job JOB", arguments.job,
           "The job whose benchmark was predicted, if the file has no benchmark_hash");
  line.add_quiet(arguments.quiet, "no text on standard output");
  line.parse(argc, argv);
  return arguments;
}

std::string hash_of_job(fleet::Connection& connection, const std::string& name) {
  const std::string hash = job_named(connection, name).benchmark_hash;
  if (hash.empty()) {
    throw et_schema::usage_error("the job has no benchmark",
                                 {.field = "--job", .got = name, .hint = "fleet jobs lists them"});
  }
  return hash;
}

fleet::Result read_prediction(fleet::Connection& connection, const ImportArguments& arguments,
                              const std::string& file) {
  const et_schema::PredictedIteration predicted = et_schema::parse_predicted_iteration(
      et_schema::read_file(file, et_schema::process_limits()), file);
  const auto& [ms, low, high] = predicted.time;
  fleet::Result result;
  result.source = fleet::kPredicted;
  result.platform = arguments.platform;
  result.date_utc = fleet::now_utc();
  result.median_ms = ms;
  result.low_ms = ms * std::pow(low / ms, kTo95);
  result.high_ms = ms * std::pow(high / ms, kTo95);
  result.coverage = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [name, operator_ms] : predicted.operators) {
    result.class_ms[std::string(et_schema::op_class(name))] += operator_ms;
  }
  const std::optional<std::string>& hash = predicted.benchmark_hash;
  if (!hash && arguments.job.empty()) {
    throw et_schema::usage_error("the prediction names no benchmark",
                                 {.file = file,
                                  .field = "--job",
                                  .expected = "a job's name",
                                  .hint = "the file has no benchmark_hash"});
  }
  result.benchmark_hash = arguments.job.empty() ? *hash : hash_of_job(connection, arguments.job);
  if (hash && *hash != result.benchmark_hash) {
    throw et_schema::usage_error("the prediction is of another benchmark",
                                 {.file = file,
                                  .field = "benchmark_hash",
                                  .expected = result.benchmark_hash + ", of " + arguments.job,
                                  .got = *hash});
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

const Verb kImport("fleet import", "Imports predictions for platforms that were not run",
                   on_database<fleet_import>);

}  // namespace
}  // namespace understudy::cli
