#include "generator/job/generate.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>

#include "arguments.h"
#include "change.h"
#include "cli/asking/asking.h"
#include "cli/common/output.h"
#include "cli/common/output_path.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "cli/compile/compile.h"
#include "cli/compile/world_options.h"
#include "cli/pages/document/page.h"
#include "document.h"
#include "et_schema/base/error.h"
#include "et_schema/base/output_file.h"
#include "generator/matching/matching.h"
#include "generator/values/value_flow.h"
#include "outputs.h"

namespace understudy::cli {
namespace {

/// Flags that an existing benchmark accepts.
constexpr const char* kOfBench =
    "--chakra DIR, --emit FOLDER, --obfuscate, --batch or --world-size";

/// Throws on flags that select a benchmark's contents: an existing benchmark cannot change them.
void refuse_choices(const GenerateArguments& arguments) {
  const bool is_alone = arguments.compiled_by.empty() && arguments.changed_by.empty();
  const std::string option =
      is_alone && !arguments.output.empty() ? "--output" : arguments.compiled_by;
  refuse_if(!option.empty(), "a benchmark cannot be narrowed or rebuilt", option,
            std::string(kOfBench) + " alone",
            option == "--output" ? "a new benchmark without anything that makes it another one"
                                 : "an option of how traces become a benchmark",
            fmt::format("give the traces that it was made of, or leave {} out", option),
            arguments.paths[0]);
}

Compiled read_or_compile(const GenerateArguments& arguments, Progress& progress) {
  std::error_code error;
  const bool is_bench = arguments.paths.size() == 1 &&
                        std::filesystem::is_regular_file(arguments.paths[0], error) &&
                        et_schema::is_bench_file(arguments.paths[0]);
  if (!is_bench) {
    Compiled compiled =
        compile_traces(arguments.paths, arguments.options, arguments.profiles, progress);
    if (arguments.options.partial == generator::PartialRanks::kRefused) {  // all ranks are here
      matching::repair_messages(compiled.bench.programs, compiled.bench.groups);
    }
    return compiled;
  }
  const bool has_use = !arguments.chakra_folder.empty() || !arguments.emit.folder.empty() ||
                       !arguments.changed_by.empty();
  if (!has_use) {
    throw et_schema::bad_input(
        "no trace found",
        {.file = arguments.paths[0],
         .expected = std::string("traces; or a benchmark with ") + kOfBench,
         .got = "a benchmark (bench.et)",
         .hint = "replay runs it; another benchmark is made of the traces that it was made from"});
  }
  refuse_choices(arguments);
  progress.show("reading");
  et_schema::Bench bench = et_schema::read_bench(arguments.paths[0]);
  et_schema::use_operator_maps(bench, arguments.paths[0]);
  refuse_operators(bench, arguments.paths[0], arguments.options.allowed_operators);
  return {std::move(bench), {}};
}

/// Returns the name of a project: that of its folder, file or archive.
std::string name_of(const std::string& path) {
  const std::filesystem::path place = std::filesystem::absolute(path).lexically_normal();
  const std::string name = (place.has_filename() ? place : place.parent_path()).filename().string();
  return name.substr(0, name.find('.'));
}

/// Returns all input files.
std::vector<std::string> inputs_of(const GenerateArguments& arguments) {
  std::vector<std::string> inputs = arguments.paths;
  inputs.insert(inputs.end(), arguments.profiles.files.begin(), arguments.profiles.files.end());
  inputs.insert(inputs.end(), arguments.profiles.graph_runs.begin(),
                arguments.profiles.graph_runs.end());
  inputs.insert(inputs.end(), arguments.profiles.counters.begin(),
                arguments.profiles.counters.end());
  return inputs;
}

/// Throws before the work if an output would overwrite an input.
void refuse_outputs(const GenerateArguments& arguments, const std::string& names_path) {
  const std::vector<std::string> inputs = inputs_of(arguments);
  refuse_output(arguments.output, inputs, "--output");
  if (arguments.obfuscate) {
    // The file of names is written beside the benchmark.
    refuse_if(arguments.output.empty() || !arguments.chakra_folder.empty(),
              "only a benchmark can be obfuscated", "--obfuscate", "-o BENCH, without --chakra",
              arguments.output.empty() ? "no --output" : "--chakra",
              "make the benchmark first; understudy generate BENCH --chakra DIR takes it");
    refuse_output(names_path, inputs, "--obfuscate");
  }
  refuse_shared_outputs({{arguments.output, "--output"},
                         {arguments.obfuscate ? names_path : "", "--obfuscate"},
                         {arguments.chakra_folder, "--chakra"},
                         {arguments.emit.folder, "--emit"}});
  if (!arguments.chakra_folder.empty()) {
    refuse_chakra_folder(arguments.chakra_folder, arguments.paths);
  }
}

/// Applies the requested changes to the benchmark.
void change_bench(const GenerateArguments& arguments, const std::string& names_path,
                  et_schema::Bench& bench, Changes& changes, Progress& progress) {
  bool has_other_shapes = arguments.batch.has_value();
  if (resizes(arguments.world, bench)) {
    progress.show("changing the number of ranks");
    generator::ScaledWorld world = generator::with_world_size(bench, arguments.world, ask_sizes());
    has_other_shapes = has_other_shapes || world.has_other_shapes;
    changes.scaled_dropped_bodies = world.dropped_bodies;
    bench = generator::bench_of(bench, std::move(world), arguments.world);
  }
  if (arguments.batch) {
    progress.show("changing sizes");
    generator::BatchedBench batched =
        generator::bench_with_batch_size(std::move(bench), *arguments.batch, ask_sizes());
    bench = std::move(batched.bench);
    changes.batched = {*arguments.batch, std::move(batched)};
  }
  if (has_other_shapes) {
    bench.programs.edit_each([](et_schema::Program& program, std::size_t /*rank*/) {
      generator::weaken_rules(program);
    });
    changes.removed_kernels = remove_kernels(bench);
  }
  progress.show("writing");
  if (arguments.obfuscate) {
    changes.hidden = hide(bench, names_path);
  }
}

int generate(const GenerateArguments& arguments) {
  use_operator_maps(arguments.op_maps);
  const std::string names_path = arguments.output + ".names.json";
  refuse_outputs(arguments, names_path);
  Progress progress(arguments.quiet);
  progress.tick();
  Compiled compiled = read_or_compile(arguments, progress);
  et_schema::Bench& bench = compiled.bench;
  Generated made{.bench = bench, .unlinked = compiled.unlinked_profiles};
  if (!arguments.kernel_architectures.empty()) {
    progress.show("compiling kernels");
    made.kernels = compile_kernels(bench, arguments.paths, arguments.kernel_architectures);
  }
  change_bench(arguments, names_path, bench, made.changes, progress);
  const bool has_chakra = !arguments.chakra_folder.empty();
  if (!arguments.output.empty()) {
    const std::string bytes =
        et_schema::bench_bytes(bench, arguments.output, et_schema::ManifestNames::kHashed);
    et_schema::write_file_atomically(arguments.output, bytes);
    made.path = arguments.output;
    made.bytes = bytes.size();
  }
  if (has_chakra) {
    made.chakra = write_chakra(bench, arguments.chakra_folder);
  }
  progress.clear();
  const bool is_told = !arguments.quiet || arguments.format != Format::kText;
  if ((!arguments.output.empty() || has_chakra) && is_told) {
    print_output(pages::written(generated_page(made), arguments.format));
  }
  if (!arguments.emit.folder.empty()) {
    const std::string& named = arguments.obfuscate ? arguments.output : arguments.paths.front();
    emit(bench, arguments.emit, name_of(named), arguments.format, arguments.quiet);
  }
  return kStatusOk;
}

const Verb kVerb("generate", "Compiles traces into a benchmark, bench.et",
                 [](int argc, char** argv) {
                   return generate(read_generate_arguments(argc, argv));
                 });

}  // namespace
}  // namespace understudy::cli
