#include "fleet/comparer/compare.h"

#include <algorithm>

#include "arguments.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "cli/pages/comparison/comparison_page.h"
#include "et_schema/base/error.h"

namespace understudy::cli {
namespace {

constexpr std::size_t kRowsInText = 15;  ///< of operators; other formats have all
constexpr int kStatusUnsure = 3;

bool is_failure(const comparer::Comparison& comparison, FailOn fail_on) {
  return std::ranges::any_of(comparison.rows, [&](const comparer::Row& row) {
    if (!comparer::decides(comparison.rows, row)) {
      return false;
    }
    const bool is_slower = row.verdict == comparer::Verdict::kSlower;
    const bool is_faster = row.verdict == comparer::Verdict::kFaster;
    return (is_slower && fail_on != FailOn::kNever) || (is_faster && fail_on == FailOn::kDifferent);
  });
}

int compare(const CompareArguments& arguments) {
  Progress progress(arguments.quiet);
  progress.tick();
  progress.show("reading");
  ComparedRuns runs = read_runs(arguments);
  if (!runs.not_run_a.empty()) {
    const pages::Page page = not_run_page(runs.not_run_a, runs.not_run_b);
    progress.clear();
    print_output(pages::written(page, arguments.format));
    const bool differs = page.verdict.tone != pages::Tone::kGood;
    return differs && arguments.fail_on == FailOn::kDifferent
               ? static_cast<int>(et_schema::ErrorKind::kFailed)
               : kStatusOk;
  }
  if (!arguments.different_benchmarks) {
    comparer::refuse_different_benchmarks(runs.a, runs.b);
    if (runs.devices) {
      comparer::refuse_different_work(*runs.devices);
    }
    refuse_if(!runs.without_device.empty(), "only one of the profiles shows a device", "",
              "a device's events, as the other profile has them", "the host's alone",
              "profile with ProfilerActivity.CUDA, too; --different-benchmarks compares what "
              "the hosts did all the same",
              runs.without_device);
    comparer::refuse_different_operators(runs.a.front(), runs.b.front());
  }
  progress.show("comparing");
  comparer::CompareOptions options = arguments.options;
  options.by_kernels = runs.devices && comparer::class_by_kernels(runs.a.front(), runs.b.front());
  const comparer::Comparison comparison = comparer::compare(runs.a, runs.b, options);
  progress.clear();
  print_output(
      pages::written(pages::comparison_page(comparison, runs.a, runs.b, kRowsInText, runs.devices),
                     arguments.format));
  if (is_failure(comparison, arguments.fail_on)) {
    return static_cast<int>(et_schema::ErrorKind::kFailed);
  }
  const bool is_unsure = arguments.fail_on == FailOn::kUnsure && !comparer::tells(comparison);
  return is_unsure ? kStatusUnsure : kStatusOk;
}

const Verb kVerb("compare", "Compares runs: what got slower or faster",
                 [](int argc, char** argv) { return compare(read_compare_arguments(argc, argv)); });

}  // namespace
}  // namespace understudy::cli
