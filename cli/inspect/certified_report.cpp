#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "documents.h"
#include "et_schema/base/digest.h"
#include "et_schema/base/error.h"
#include "et_schema/base/file_name.h"
#include "et_schema/base/json_record.h"
#include "et_schema/formats/report/report_json.h"
#include "et_schema/model/report.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::Report;

constexpr double kMilliOfNano = 1e-6;

class ReportCheck {
 public:
  ReportCheck(const Report& report, const std::string& file) : report_(report), file_(file) {}

  void check(const Bench& bench) const {
    const et_schema::RunFigures& total = report_.total;
    positive("iteration_ms.median", total.iteration_ms.median);
    share("coverage.count", total.coverage.count);
    share("coverage.time", total.coverage.time);
    if (total.output_mismatches > total.outputs_checked) {
      fail("output_mismatches",
           fmt::format("at most {}, the outputs checked", total.outputs_checked),
           std::to_string(total.output_mismatches));
    }
    check_sums();
    check_original(bench);
  }

 private:
  [[noreturn]] void fail(const std::string& field, const std::string& expected,
                         const std::string& got) const {
    throw et_schema::bad_input("a report that no replay writes",
                               {.file = file_,
                                .field = field,
                                .expected = expected,
                                .got = got,
                                .hint = "it was changed since: replay the benchmark again"});
  }

  void positive(const std::string& field, const std::optional<double>& value) const {
    if (value && *value <= 0) {
      fail(field, "a time above 0 ms", fmt::format("{}", *value));
    }
  }

  void share(const std::string& field, const std::optional<double>& value) const {
    if (value && (*value < 0 || *value > 1)) {
      fail(field, "a share from 0 to 1", fmt::format("{}", *value));
    }
  }

  /// Checks that the job's figures follow from those of its ranks.
  void check_sums() const {
    const Json written = Json::parse(et_schema::to_json(report_)).flatten();
    const Json again = Json::parse(et_schema::to_json(et_schema::merge(
                                       report_.ranks, report_.filters, report_.environment)))
                           .flatten();
    for (const char* part : {"/complete", "/iteration_ms/", "/coverage/", "/output_mismatches",
                             "/outputs_checked", "/original/"}) {
      for (const auto& [key, value] : written.items()) {
        const Json expected = again.value(key, Json(nullptr));
        if (key.starts_with(part) && value != expected) {
          std::string field = key.substr(1);
          std::ranges::replace(field, '/', '.');
          fail(field, expected.dump() + ", by its ranks", value.dump());
        }
      }
    }
  }

  /// Checks that the original's steps are those of a rank of the benchmark: a report has the
  /// slowest replayed rank's.
  void check_original(const Bench& bench) const {
    const et_schema::OriginalStep& original = report_.total.original;
    check_recorded(
        "original.step_ms", original.step_ms, bench,
        [](const et_schema::RecordedProfile& profile) { return std::optional(profile.step_ns); });
    check_recorded(
        "original.unprofiled_ms", original.unprofiled_ms, bench,
        [](const et_schema::RecordedProfile& profile) { return profile.unprofiled_step_ns; });
  }

  template <typename StepOf>
  void check_recorded(const std::string& field, const std::optional<double>& step_ms,
                      const Bench& bench, StepOf step_of) const {
    const auto is_it = [&](const et_schema::Program& program) {
      const std::optional<std::int64_t> step_ns =
          program.profile ? step_of(*program.profile) : std::nullopt;
      return step_ns && is_near(static_cast<double>(*step_ns) * kMilliOfNano, *step_ms);
    };
    if (step_ms && std::ranges::none_of(bench.programs, is_it)) {
      fail(field, "the recorded step of a rank of the benchmark", fmt::format("{}", *step_ms));
    }
  }

  static bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(a); }

  const Report& report_;
  const std::string& file_;
};

}  // namespace

Json measured_by(const CertifiedReport& given, const Bench& bench,
                 const std::string& benchmark_hash) {
  const Report report = et_schema::parse_report(given.json, given.file);
  if (report.environment.benchmark_hash != benchmark_hash) {
    throw et_schema::bad_input(
        "a report of another benchmark",
        {.file = given.file,
         .field = "environment.benchmark_hash",
         .expected = benchmark_hash,
         .got =
             report.environment.benchmark_hash.empty() ? "none" : report.environment.benchmark_hash,
         .hint = "give the report of replay --report with this very file"});
  }
  ReportCheck(report, given.file).check(bench);
  const et_schema::RunFigures& total = report.total;
  Json measured = {{"file", et_schema::file_name(given.file)},
                   {"sha256", et_schema::digest_of(given.json)},
                   {"evidence", "as the report says, unchecked"},
                   {"tool_version", report.environment.tool_version},
                   {"device", report.environment.device},
                   {"complete", total.complete},
                   {"iteration_median_ms", et_schema::json_of(total.iteration_ms.median)},
                   {"original_step_ms", et_schema::json_of(total.original.step_ms)},
                   {"original_unprofiled_ms", et_schema::json_of(total.original.unprofiled_ms)},
                   {"original_operators_ms", et_schema::json_of(total.original.operators_ms)},
                   {"coverage_count", et_schema::json_of(total.coverage.count)},
                   {"coverage_time", et_schema::json_of(total.coverage.time)},
                   {"output_mismatches", total.output_mismatches},
                   {"outputs_checked", total.outputs_checked}};
  const std::optional<double>& median = total.iteration_ms.median;
  const std::optional<double>& step =
      total.original.unprofiled_ms ? total.original.unprofiled_ms : total.original.step_ms;
  measured["iteration_of_original"] =
      median && step && *step > 0 ? Json(*median / *step) : Json(nullptr);
  return measured;
}

}  // namespace understudy::cli
