#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/command_line.h"
#include "common/output.h"
#include "common/output_path.h"
#include "common/progress.h"
#include "common/run_main.h"
#include "compile/compile.h"
#include "et_schema/bench/bench.h"
#include "et_schema/bench/signature.h"
#include "et_schema/support/error.h"
#include "et_schema/support/output_file.h"
#include "et_schema/support/read_file.h"
#include "generate/batch.h"
#include "generate/blur.h"
#include "generate/chakra.h"
#include "generate/emit.h"
#include "generate/obfuscate.h"
#include "generate/reduce.h"
#include "generate/render.h"
#include "generate/sign.h"
#include "generator/job/generate.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    "  generate traces/ -o bench.et                      one benchmark of all ranks in a folder\n"
    "  generate et.json.gz -o bench.et --profile kineto.json.gz\n"
    "                                                    with recorded times, which --pace needs\n"
    "  generate et.json.gz -o bench.et --step 5          ProfilerStep#5, not the first complete "
    "step\n"
    "  generate et.json.gz -o comms.et --only comms      the communication alone\n"
    "  generate et.json.gz -o opt.et --subgraph Optimizer.step\n"
    "                                                    what runs below nodes of such a name\n"
    "  generate et.json.gz -o layer.et --subgraph my_layer --keep-names\n"
    "                                                    a layer and its backward pass, named\n"
    "  generate et.json.gz -o x.et --exclude '^aten::fill_$'\n"
    "  generate traces/ --obfuscate -o vendor.et         without names and texts of the original; "
    "what\n"
    "                                                    they were stays in vendor.et.names.json\n"
    "  generate mix.et --obfuscate -o vendor.et          the same of a benchmark\n"
    "  generate chakra/ -o bench.et                      from Chakra traces, PREFIX.R.et of each "
    "rank\n"
    "  generate bench.et --chakra out/                   out/chakra.R.et for simulators\n"
    "  generate traces/ --emit cpp out/                  the step as source: a CMake project for "
    "LibTorch\n"
    "  generate bench.et --emit python out/              the same for Python, from a benchmark\n"
    "  generate traces/ -o small.et --reduce 0.02        equal layers as loops: a smaller file\n"
    "  generate bench.et -o blurred.et --shapes-within 5%\n"
    "                                                    other sizes, consistently, where times "
    "stay alike\n"
    "  generate mlp/ -o larger.et --batch 128:256        the step as it would be with twice the "
    "batch\n"
    "  generate --new-key my.key                         a key to sign with; my.key.pub is for "
    "others\n"
    "  generate bench.et --sign my.key -o signed.et      signed: any change is noticed\n";

struct Arguments {
  std::vector<std::string> paths;
  std::string output;         ///< empty: none is written
  std::string chakra_folder;  ///< empty: none are written
  Format format = Format::kText;
  generator::GenerateOptions options;
  ProfileChoice profiles;
  bool keep_names = false;
  bool obfuscate = false;
  EmitChoice emit;
  SignChoice sign;
  std::optional<double> reduce;
  std::optional<double> shapes_within;
  std::optional<predictor::BatchSize> batch;
  std::string names_path;  ///< what obfuscation replaced; empty: beside the output
  bool quiet = false;
};

/// A key is made by itself.
void refuse_beside_new_key(const Arguments& arguments) {
  if (!arguments.paths.empty() || !arguments.output.empty() || !arguments.sign.key_path.empty()) {
    throw et_schema::usage_error("--new-key goes without other inputs and outputs",
                                 {.field = "--new-key",
                                  .expected = "generate --new-key FILE",
                                  .got = "traces or an output beside it",
                                  .hint = "make the key first, then --sign with it"});
  }
}

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  const auto app = make_app(
      {.name = "generate",
       .description = "Compiles execution traces into one replay benchmark, which needs no model, "
                      "no data and no Python; or writes Chakra traces for simulators.",
       .examples = kExamples,
       .failure = "the benchmark could not be written"});
  app->add_option("TRACE", arguments.paths,
                  "Traces of all ranks: files, archives or folders; with --chakra, --emit, "
                  "--obfuscate, --reduce, --shapes-within, --batch or --sign also one bench.et");
  app->add_option("-o,--output", arguments.output, "The benchmark to write");
  app->add_option("--chakra", arguments.chakra_folder,
                  "Write Chakra traces there: chakra.R.et of each rank R and comm_groups.json")
      ->type_name("DIR");
  app->add_option("--step", arguments.options.step,
                  "K of ProfilerStep#K, or all (default: the first complete step)");
  CLI::Option* subgraph =
      app->add_option("--subgraph", arguments.options.subgraphs,
                      "Only what runs below nodes whose name contains this, and its backward pass");
  app->add_flag(
         "--no-backward", [&arguments](auto) { arguments.options.with_backward = false; },
         "With --subgraph: without the backward pass")
      ->needs(subgraph);
  static const std::map<std::string, generator::Only> kKinds = {
      {"compute", generator::Only::kCompute}, {"comms", generator::Only::kComms}};
  app->add_option_function<std::string>(
         "--only",
         [&arguments](const std::string& name) { arguments.options.only = kKinds.at(name); },
         "Only this part: compute or comms")
      ->check(CLI::IsMember({"compute", "comms"}))
      ->type_name("PART");
  app->add_option("--include", arguments.options.include,
                  "Only operators whose name matches this regular expression");
  add_allow_option(*app, arguments.options.allowed_operators);
  app->add_option("--exclude", arguments.options.exclude,
                  "Leave out operators whose name matches it");
  app->add_option_function<std::string>(
         "--indices",
         [&arguments](const std::string& spread) {
           arguments.options.indices = generator::parse_index_spread(spread);
         },
         "Spread of index values that were not recorded: uniform (default), zipf:ALPHA or constant")
      ->type_name("SPREAD");
  app->add_flag(
      "--allow-partial",
      [&arguments](auto) { arguments.options.partial = generator::PartialRanks::kAllowed; },
      "Accept only some of a job's ranks, or ranks of different captures; each then replays alone");
  add_format_option(*app, arguments.format);
  CLI::Option* profile =
      app->add_option("--profile", arguments.profiles.files,
                      "Kineto profiles that give the recorded times, one a rank (default: those of "
                      "the capture that the traces lie in)")
          ->type_name("FILE");
  app->add_flag("--no-profile", arguments.profiles.none, "Leave recorded times out")
      ->excludes(profile);
  CLI::Option* keep_names =
      app->add_flag("--keep-names", arguments.keep_names,
                    "Store filters and the names of custom operators in the manifest as plain text "
                    "(default: as hashes)");
  CLI::Option* obfuscate =
      app->add_flag("--obfuscate", arguments.obfuscate,
                    "Replace names, texts and exact numbers that do not decide the time; the order "
                    "and shapes of public operators stay")
          ->excludes(keep_names);
  app->add_option(
         "--names", arguments.names_path,
         "With --obfuscate: where to write what was replaced, for the owner alone (default: "
         "OUTPUT.names.json)")
      ->type_name("FILE")
      ->needs(obfuscate);
  app->add_option(
         "--reduce", arguments.reduce,
         "Write repeated instruction sequences once, as loops (smaller file, same replay). "
         "Recorded times in a loop become their mean; the total of no operator class "
         "changes by more than SHARE (0.02 = 2 %)")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->type_name("SHARE");
  add_blur_option(*app, arguments.shapes_within);
  BatchTexts batch;
  add_batch_options(*app, batch);
  add_emit_options(*app, arguments.emit);
  add_sign_options(*app, arguments.sign);
  add_quiet_option(*app, arguments.quiet, "no text on standard output");
  parse_arguments(*app, argc, argv);
  arguments.batch = batch.parsed();
  if (!arguments.sign.new_key_path.empty()) {
    refuse_beside_new_key(arguments);
    return arguments;
  }
  if (arguments.paths.empty()) {
    throw et_schema::usage_error("TRACE is required", {.hint = "generate --help has examples"});
  }
  if (!arguments.sign.key_path.empty() && arguments.output.empty()) {
    throw et_schema::usage_error("only a benchmark can be signed",
                                 {.field = "--sign", .expected = "-o BENCH", .got = "no --output"});
  }
  if (arguments.output.empty() && arguments.chakra_folder.empty() &&
      arguments.emit.folder.empty()) {
    throw et_schema::usage_error("nothing to write",
                                 {.field = "--output",
                                  .expected = "-o BENCH, --chakra DIR or --emit "
                                              "LANGUAGE FOLDER",
                                  .got = "none of them",
                                  .hint = "generate --help has examples"});
  }
  return arguments;
}

/// What is made of a benchmark that is there.
constexpr const char* kOfBench =
    "--chakra DIR, --emit LANGUAGE FOLDER, --obfuscate, --reduce, --shapes-within, --batch or "
    "--sign";

/// Whether there is something to make of a benchmark that is another one.
bool changes_bench(const Arguments& arguments) {
  return arguments.obfuscate || arguments.reduce || arguments.shapes_within || arguments.batch ||
         !arguments.sign.key_path.empty();
}

/// The first option that says how traces become a benchmark; empty if there is none.
std::string option_of_traces(const Arguments& arguments) {
  const generator::GenerateOptions& options = arguments.options;
  const std::initializer_list<std::pair<const char*, bool>> kGiven = {
      {"--step", options.step.has_value()},
      {"--subgraph", !options.subgraphs.empty()},
      {"--only", options.only != generator::Only::kAll},
      {"--include", options.include.has_value()},
      {"--exclude", options.exclude.has_value()},
      {"--indices", options.indices.kind != generator::IndexSpread::Kind::kUniform},
      {"--allow-partial", options.partial != generator::PartialRanks::kRefused},
      {"--profile", !arguments.profiles.files.empty()},
      {"--no-profile", arguments.profiles.none},
      {"--output", !arguments.output.empty() && !changes_bench(arguments)}};
  const auto* const given = std::ranges::find_if(kGiven, [](auto& one) { return one.second; });
  return given == kGiven.end() ? "" : given->first;
}

/// What a benchmark holds was chosen when it was made.
void refuse_choices(const Arguments& arguments) {
  const std::string option = option_of_traces(arguments);
  if (!option.empty()) {
    throw et_schema::usage_error(
        "a benchmark cannot be narrowed or rebuilt",
        {.file = arguments.paths[0],
         .field = option,
         .expected = std::string(kOfBench) + " alone",
         .got = option == "--output" ? "a new benchmark without anything that makes it another one"
                                     : "an option of how traces become a benchmark",
         .hint = "give the traces that it was made of, or leave " + option + " out"});
  }
}

/// A benchmark, and the bytes of its file if it was there before.
struct Taken {
  Compiled compiled;
  std::string bytes;
};

void refuse_bench_as_trace(const std::vector<std::string>& paths) {
  std::error_code error;
  if (paths.size() == 1 && std::filesystem::is_regular_file(paths[0], error) &&
      et_schema::is_bench_file(paths[0])) {
    throw et_schema::bad_input(
        "no trace found",
        {.file = paths[0],
         .expected = std::string("traces; or a benchmark with ") + kOfBench,
         .got = "a benchmark (bench.et)",
         .hint = "replay runs it; another benchmark is made of the traces that it was made from"});
  }
}

Taken read_or_compile(const Arguments& arguments, Progress& progress) {
  const bool takes_bench = !arguments.chakra_folder.empty() || !arguments.emit.folder.empty() ||
                           changes_bench(arguments);
  const bool is_bench = takes_bench && arguments.paths.size() == 1 &&
                        std::filesystem::is_regular_file(arguments.paths[0]) &&
                        et_schema::is_bench_file(arguments.paths[0]);
  if (!is_bench) {
    refuse_bench_as_trace(arguments.paths);
    return {compile_traces(arguments.paths, arguments.options, arguments.profiles, progress), ""};
  }
  refuse_choices(arguments);
  progress.show("reading");
  std::string bytes = et_schema::read_file(arguments.paths[0], et_schema::process_limits());
  et_schema::Bench bench = et_schema::read_bench_bytes(bytes, arguments.paths[0]);
  refuse_operators(bench, arguments.paths[0], arguments.options.allowed_operators);
  return {{std::move(bench), {}}, std::move(bytes)};
}

/// What a project is called: as its folder, file or archive is.
std::string name_of(const std::string& path) {
  const std::filesystem::path place = std::filesystem::absolute(path).lexically_normal();
  const std::string name = (place.has_filename() ? place : place.parent_path()).filename().string();
  return name.substr(0, name.find('.'));
}

/// `bytes`: of the benchmark if it was there before and is not changed, but for who signed it.
void write_bench(const Arguments& arguments, et_schema::Bench& bench, std::string bytes,
                 Generated& made) {
  et_schema::BenchWriting writing(arguments.keep_names ? et_schema::ManifestNames::kClear
                                                       : et_schema::ManifestNames::kHashed);
  std::optional<Reduced> reduced;
  if (arguments.reduce) {
    reduced = reduce(bench, writing, *arguments.reduce);
    writing.loops = et_schema::LineLoops::kFolded;
  }
  if (bytes.empty() || arguments.reduce) {
    bytes = et_schema::bench_bytes(bench, arguments.output, writing);
  }
  bytes = signed_as(arguments.sign, std::move(bytes), arguments.output);
  et_schema::write_file_atomically(arguments.output, bytes);
  made.path = arguments.output;
  made.bytes = bytes.size();
  if (const auto signer = et_schema::find_signer(bytes, arguments.output)) {
    made.signed_by = signer->hex();
  }
  if (reduced) {
    made.reduced = reduced_text(*reduced, made.bytes);
  }
}

void print_made(const Arguments& arguments, const Generated& made) {
  if (arguments.format == Format::kJson) {
    print_output(generated_json(made));
  } else if (arguments.format == Format::kCsv) {
    print_output(generated_csv(made));
  } else if (!arguments.quiet) {
    print_output(generated_text(made) + (made.blurred ? blurred_text(*made.blurred) : "") +
                 (made.batched ? batched_text(made.batched->size, made.batched->bench) : "") +
                 made.reduced +
                 (made.signed_by.empty() ? "" : "\nSigned by key " + made.signed_by + "\n"));
  }
}

/// All that is read.
std::vector<std::string> inputs_of(const Arguments& arguments) {
  std::vector<std::string> inputs = arguments.paths;
  inputs.insert(inputs.end(), arguments.profiles.files.begin(), arguments.profiles.files.end());
  if (!arguments.sign.key_path.empty()) {
    inputs.push_back(arguments.sign.key_path);
  }
  return inputs;
}

int generate(const Arguments& arguments) {
  if (!arguments.sign.new_key_path.empty()) {
    write_new_key(arguments.sign, arguments.quiet);
    return kStatusOk;
  }
  const bool has_bench = !arguments.output.empty();
  const bool has_chakra = !arguments.chakra_folder.empty();
  const std::vector<std::string> inputs = inputs_of(arguments);
  if (has_bench) {
    refuse_output(arguments.output, inputs, "--output");
  }
  const std::string names_path =
      arguments.names_path.empty() ? arguments.output + ".names.json" : arguments.names_path;
  if (arguments.obfuscate) {
    refuse_obfuscation(arguments.output, arguments.chakra_folder);
    refuse_output(names_path, inputs, "--names");
  }
  refuse_shared_outputs({{arguments.output, "--output"},
                         {arguments.obfuscate ? names_path : "", "--names"},
                         {arguments.chakra_folder, "--chakra"},
                         {arguments.emit.folder, "--emit"}});
  if (has_chakra) {
    refuse_chakra_folder(arguments.chakra_folder, arguments.paths);
  }
  Progress progress;
  if (arguments.quiet) {
    progress.silence();
  }
  progress.tick();
  auto [compiled, bytes] = read_or_compile(arguments, progress);
  auto& [bench, unlinked] = compiled;
  std::optional<generator::Blurred> blurred;
  if (arguments.shapes_within) {
    progress.show("changing shapes");
    blurred = blur(std::move(bench), *arguments.shapes_within);
    bench = std::move(blurred->bench);
    bytes.clear();
  }
  std::optional<predictor::BatchedBench> batched;
  if (arguments.batch) {
    progress.show("changing the batch size");
    batched = predictor::bench_with_batch_size(std::move(bench), *arguments.batch);
    bench = std::move(batched->bench);
    bytes.clear();
  }
  progress.show("writing");
  std::optional<Hidden> hidden;
  if (arguments.obfuscate) {
    hidden = hide(bench, names_path);
    bytes.clear();
  }
  Generated made{.bench = bench, .unlinked = unlinked};
  made.hidden = std::move(hidden);
  made.blurred = std::move(blurred);
  if (batched) {
    made.batched = {*arguments.batch, std::move(*batched)};
  }
  if (has_bench) {
    write_bench(arguments, bench, std::move(bytes), made);
  }
  if (has_chakra) {
    made.chakra = write_chakra(bench, arguments.chakra_folder);
  }
  progress.clear();
  if (has_bench || has_chakra) {
    print_made(arguments, made);
  }
  if (!arguments.emit.folder.empty()) {
    const std::string& named = arguments.obfuscate ? arguments.output : arguments.paths.front();
    emit(bench, arguments.emit, name_of(named), arguments.format, arguments.quiet);
  }
  return kStatusOk;
}

}  // namespace
}  // namespace understudy::cli

int main(int argc, char** argv) {
  return understudy::cli::run_main("generate", argc, argv, [&] {
    return understudy::cli::generate(understudy::cli::read_arguments(argc, argv));
  });
}
