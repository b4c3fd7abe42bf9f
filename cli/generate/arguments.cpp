#include "arguments.h"

#include "cli/compile/world_options.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    R"(  understudy generate traces/ -o bench.et                    one benchmark of all ranks in a folder
  understudy generate et.json -o bench.et --profile k.json   with recorded times, which --pace needs
  understudy generate et.json -o opt.et --subgraph Optimizer what runs below nodes of such a name
  understudy generate traces/ -o vendor.et --obfuscate       without names and texts of the original
  understudy generate bench.et --chakra out/                 out/chakra.R.et for simulators
  understudy generate traces/ --emit out/                    as source: a project in Python
  understudy generate mlp/ -o larger.et --batch 128:256      with twice the batch
  understudy generate ddp/ -o ranks_64.et --world-size 64    on 64 ranks, each with its batch)";

/// Throws Error (usage) if there is nothing to do, or if flags exclude each other.
void check(const GenerateArguments& arguments) {
  const bool has_output = !arguments.output.empty();
  const bool writes =
      has_output || !arguments.chakra_folder.empty() || !arguments.emit.folder.empty();
  refuse_if(arguments.paths.empty(), "TRACE is required", "", "", "",
            "understudy generate --help has examples");
  const std::string& folder = arguments.emit.folder;
  refuse_if(folder == "cpp" || folder == "python", "projects are in Python alone", "--emit",
            "a folder", folder.c_str(),
            "--emit project/; in C++, replay runs a bench.et without Python");
  if (!arguments.kernel_architectures.empty()) {
    refuse_if(arguments.batch.has_value(), "kernels are launched as they were recorded",
              "--kernels", "the recorded sizes", "--batch or --size",
              "leave that out: replays then stub the kernels");
    refuse_if(!has_output, "only a benchmark holds compiled kernels", "--kernels", "-o BENCH",
              "no --output");
  }
  refuse_if(!writes, "nothing to write", "--output", "-o BENCH, --chakra DIR or --emit FOLDER",
            "none of them", "understudy generate --help has examples");
}

}  // namespace

GenerateArguments read_generate_arguments(int argc, char** argv) {
  GenerateArguments arguments;
  CommandLine line(
      {.name = "understudy generate",
       .description = "Compiles execution traces into one replay benchmark, which needs no model, "
                      "no data and no Python; or writes Chakra traces for simulators.",
       .examples = kExamples,
       .success = "the benchmark, project or traces were written",
       .common = {"--step", "--profile", "--only", "--subgraph", "--exclude", "--batch",
                  "--world-size", "--output", "--emit", "--obfuscate"}});
  line.add("TRACE", arguments.paths,
           "Traces of all ranks: files, archives or folders; with --chakra, --emit, --obfuscate, "
           "--batch or --world-size also one bench.et");
  line.add("--step K", arguments.options.step,
           "K of ProfilerStep#K, or all (default: the first complete step); of a serving engine's "
           "folder the captured graph: its batch size, as 16 or 16_FULL");
  add_profile_option(line, arguments.profiles, "Kineto profiles that give the recorded times");
  line.add("--graph-profile FILE", arguments.profiles.graph_runs,
           "Kineto profiles of the same steps launched as CUDA or HIP graphs, one a rank: device "
           "times are theirs, joined by the names of kernels in order");
  line.add(
      "--counters FILE", arguments.profiles.counters,
      "What ncu, rocprofv3 or Kineto's range profiler counted in the profiled program's kernels: "
      "one a rank, in their order; of a single rank also several passes");
  line.add_flag("--allow-missing", arguments.emit.allow_missing,
                "Accept only some of a job's ranks, or ranks of different captures, each of which "
                "then replays alone; with --emit operators that cannot be shown in source");
  line.add("--op-library FILE", arguments.op_maps,
           "Rows (.json) that say what custom operators mean in terms of ATen's, before the "
           "built-in ones; can be repeated")
      .repeats();
  line.begin(FlagGroup::kRuns);
  line.add_choice("--only PART",
                  {{"compute", generator::Only::kCompute}, {"comms", generator::Only::kComms}},
                  arguments.options.only, "Only this part: compute or comms");
  line.add("--subgraph TEXT", arguments.options.subgraphs,
           "Only what runs below nodes whose name contains this, and its backward pass");
  line.add_flag(
          "--no-backward", [&arguments] { arguments.options.with_backward = false; },
          "With --subgraph: without the backward pass")
      .needs("--subgraph");
  line.add("--exclude REGEX", arguments.options.exclude,
           "Leave out operators whose name matches it");
  line.add_text(
      "--indices SPREAD",
      [&arguments](const std::string& spread) {
        arguments.options.indices = generator::parse_index_spread(spread);
        return true;
      },
      "",
      "Spread of index values that were not recorded: uniform (default), zipf:ALPHA or constant");
  BatchTexts batch;
  add_batch_options(line,
                    "give the benchmark batch size TO instead of the recorded FROM, without "
                    "recorded times",
                    batch);
  add_world_options(line, arguments.world);
  add_kernels_option(line, arguments.kernel_architectures);
  line.begin(FlagGroup::kOutput);
  line.add("-o,--output FILE", arguments.output, "The benchmark to write");
  line.add("--chakra DIR", arguments.chakra_folder,
           "Write Chakra traces there: chakra.R.et of each rank R and comm_groups.json");
  line.add("--emit FOLDER", arguments.emit.folder,
           "Write a standalone project in Python that runs the step into this folder");
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "no text on standard output");
  line.begin(FlagGroup::kTrust);
  line.add_flag("--obfuscate", arguments.obfuscate,
                "Replace names, texts and exact numbers that do not decide the time; the order and "
                "shapes of public operators stay. OUTPUT.names.json, for the owner alone, holds "
                "what was replaced");
  add_allow_option(line, arguments.options.allowed_operators);
  line.parse(argc, argv);
  arguments.compiled_by =
      line.first_given({"--step", "--subgraph", "--only", "--exclude", "--indices", "--profile",
                        "--graph-profile", "--counters", "--kernels"});
  arguments.changed_by = line.first_given({"--obfuscate", "--batch", "--size", "--world-size"});
  arguments.batch = batch.parsed();
  if (arguments.emit.allow_missing) {
    arguments.options.partial = generator::PartialRanks::kAllowed;
  }
  check_world_options(arguments.world);
  if (is_given(arguments.world) && arguments.options.partial == generator::PartialRanks::kRefused) {
    arguments.options.partial = generator::PartialRanks::kOfOneJob;  // these represent all
  }
  check(arguments);
  return arguments;
}

}  // namespace understudy::cli
