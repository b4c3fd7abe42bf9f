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
#include "et_schema/formats/report/report_json.h"
#include "et_schema/model/op_class.h"
#include "fleet/database/connection.h"
#include "fleet/database/schema.h"
#include "fleet/nightly/report_result.h"
#include "fleet/process/node.h"
#include "fleet/records/benchmarks.h"
#include "fleet/records/results.h"

namespace understudy::cli {
namespace {

// Predictions have 90 % intervals; the fleet stores 95 % intervals.
constexpr double kTo95 = 1.959964 / 1.644854;

struct ImportArguments {
  std::string url;
  std::string platform;
  std::string job;
  std::vector<std::string> files;
  bool quiet = false;
};

/// Figures of a file, and the benchmark that it names.
struct Imported {
  fleet::Result result;
  std::optional<std::string> benchmark_hash;
  std::optional<et_schema::Environment> environment;  ///< unset for a prediction
};

ImportArguments read_import_arguments(int argc, char** argv) {
  ImportArguments arguments;
  CommandLine line(
      {.name = "understudy fleet import",
       .description =
           "Imports results of jobs' benchmarks from elsewhere: predictions (`understudy predict "
           "--report`), which fill in, marked as predicted, until the platform is measured; and "
           "reports of `replay` or of an emitted project, as results of no night.",
       .examples =
           R"(  understudy fleet import fleet.db ads.json --platform h200 --job ads-ranker)",
       .failure = "nothing was imported"});
  add_database_option(line, arguments.url);
  line.add("FILE", arguments.files, "Predictions or reports").required();
  line.add("--platform NAME", arguments.platform, "The platform that they are for").required();
  line.add("--job JOB", arguments.job,
           "The job whose benchmark it was, if the file has no benchmark_hash");
  line.add_quiet(arguments.quiet, "no text on standard output");
  line.parse(argc, argv);
  return arguments;
}

std::string hash_of_job(fleet::Connection& connection, const std::string& name) {
  const std::string hash = job_named(connection, name).benchmark_hash;
  refuse_if(hash.empty(), "the job has no benchmark", "--job", "", name,
            "understudy fleet jobs lists them");
  return hash;
}

Imported read_prediction(const std::string& text, const std::string& file) {
  const et_schema::PredictedIteration predicted = et_schema::parse_predicted_iteration(text, file);
  const auto& [ms, low, high] = predicted.ms;
  Imported imported;
  imported.benchmark_hash = predicted.benchmark_hash;
  fleet::Result& result = imported.result;
  result.source = fleet::kPredicted;
  result.median_ms = ms;
  result.low_ms = ms * std::pow(low / ms, kTo95);
  result.high_ms = ms * std::pow(high / ms, kTo95);
  result.coverage = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [name, operator_ms] : predicted.operators) {
    result.class_ms[std::string(et_schema::op_class(name))] += operator_ms;
  }
  return imported;
}

Imported read_report(const std::string& text, const std::string& file) {
  const et_schema::Report report = et_schema::parse_report(text, file);
  Imported imported;
  imported.result = fleet::result_of(report);
  imported.environment = report.environment;
  if (!report.environment.benchmark_hash.empty()) {
    imported.benchmark_hash = report.environment.benchmark_hash;
  }
  return imported;
}

/// Reads the file's figures as a result of a job's benchmark.
Imported read_result(fleet::Connection& connection, const ImportArguments& arguments,
                     const std::string& file) {
  const std::string text = et_schema::read_file(file, et_schema::process_limits());
  Imported imported =
      et_schema::starts_as_report(text) ? read_report(text, file) : read_prediction(text, file);
  fleet::Result& result = imported.result;
  result.platform = arguments.platform;
  result.date_utc = fleet::now_utc();
  const std::optional<std::string>& hash = imported.benchmark_hash;
  refuse_if(!hash && arguments.job.empty(), "the file names no benchmark", "--job", "a job's name",
            "", "the file has no benchmark_hash", file);
  result.benchmark_hash = arguments.job.empty() ? *hash : hash_of_job(connection, arguments.job);
  if (hash && *hash != result.benchmark_hash) {
    throw et_schema::usage_error("the file is of another benchmark",
                                 {.file = file,
                                  .field = "benchmark_hash",
                                  .expected = result.benchmark_hash + ", of " + arguments.job,
                                  .got = *hash});
  }
  refuse_if(!fleet::find_benchmark_by_hash(connection, result.benchmark_hash),
            "no job has the benchmark of the file", "benchmark_hash",
            "one that `understudy fleet jobs` lists", result.benchmark_hash,
            "predict or run the benchmark that the job has in the store", file);
  return imported;
}

int fleet_import(int argc, char** argv) {
  const ImportArguments arguments = read_import_arguments(argc, argv);
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  std::vector<Imported> all;
  for (const std::string& file : arguments.files) {
    all.push_back(read_result(*connection, arguments, file));
  }
  fleet::in_transaction(*connection, [&] {
    for (Imported& imported : all) {
      imported.result.environment =
          imported.environment
              ? fleet::put_environment(*connection, *imported.environment)
              : fleet::put_environment(*connection, "prediction", R"({"source":"prediction"})");
      fleet::put_result(*connection, imported.result);
    }
  });
  if (!arguments.quiet) {
    print_output(fmt::format("{} result{} for {}\n", all.size(), all.size() == 1 ? "" : "s",
                             arguments.platform));
  }
  return kStatusOk;
}

const Verb kImport("fleet import", "Imports predictions, and reports of runs elsewhere",
                   on_database<fleet_import>);

}  // namespace
}  // namespace understudy::cli
