#include "cli/compile/compile.h"
#include "job.h"

namespace understudy::cli {
namespace {

/// Returns the options for compiling a trace: the part of it that is replayed.
generator::GenerateOptions options_of(const replayer::ReplayOptions& options) {
  return {.only = options.only == replayer::Only::kCompute ? generator::Only::kCompute
                  : options.only == replayer::Only::kComms ? generator::Only::kComms
                                                           : generator::Only::kAll,
          .partial = generator::PartialRanks::kOneAlone,
          .allowed_operators = options.allowed_operators};
}

}  // namespace

et_schema::Bench load_bench(const ReplayArguments& arguments, Progress& progress) {
  return load_benchmark({arguments.input}, options_of(arguments.options), {}, progress).bench;
}

}  // namespace understudy::cli
