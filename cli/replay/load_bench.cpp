#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compile/compile.h"
#include "et_schema/bench/kernels.h"
#include "et_schema/support/error.h"
#include "replay/job.h"

namespace understudy::cli {
namespace {

using et_schema::Bench;

/// What a trace is compiled with: the part of it that is replayed.
generator::GenerateOptions options_of(const replayer::ReplayOptions& options) {
  return {.only = options.only == replayer::Only::kCompute ? generator::Only::kCompute
                  : options.only == replayer::Only::kComms ? generator::Only::kComms
                                                           : generator::Only::kAll,
          .partial = generator::PartialRanks::kOneAlone,
          .allowed_operators = options.allowed_operators};
}

/// Whoever runs machine code trusts whoever made it, so it has to be said.
void refuse_machine_code(const Bench& bench, const ReplayArguments& arguments) {
  std::size_t kernels = 0;
  for (const et_schema::Program& program : bench.programs) {
    kernels += static_cast<std::size_t>(std::ranges::count_if(
        program.kernels,
        [](const et_schema::CompiledKernel& kernel) { return !kernel.libraries.empty(); }));
  }
  if (kernels == 0 || arguments.options.machine_code || arguments.options.device != "cpu") {
    return;
  }
  throw et_schema::bad_input(
      "the benchmark holds machine code for the CPU",
      {.file = arguments.input,
       .field = et_schema::kKernelsName,
       .expected = "--machine-code run or --machine-code stub",
       .got = fmt::format("{} kernels, and neither", kernels),
       .hint = "run: it may do whatever this program may, so trust whoever made it; stub: each "
               "kernel is replaced by one that moves the same bytes and takes the recorded time"});
}

}  // namespace

Bench load_bench(const ReplayArguments& arguments, Progress& progress) {
  const std::string& path = arguments.input;
  const bool is_file = std::filesystem::is_regular_file(path);
  if (is_file && et_schema::is_bench_file(path)) {
    Bench bench = et_schema::read_bench(path);
    et_schema::use_operator_maps(bench, path);
    refuse_operators(bench, path, arguments.options.allowed_operators);
    refuse_machine_code(bench, arguments);
    return bench;
  }
  return compile_traces({path}, options_of(arguments.options), {}, progress).bench;
}

}  // namespace understudy::cli
