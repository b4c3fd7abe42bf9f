#include "arguments.h"

#include "cli/common/command_line.h"
#include "cli/compile/compile.h"
#include "cli/compile/world_options.h"

namespace understudy::cli {
namespace {

constexpr int kMostRanks = 100'000;

constexpr const char* kExamples =
    "  predict bench.et --recorded                     from the linked profile's times\n"
    "  predict bench.et --recorded --what-if 'matmul x0.5' --what-if 'network x2' --explain\n"
    "  predict bench.et --recorded --what-if 'rank 3 x1.2'  one rank slower\n"
    "  predict bench.et --recorded --world-size 64     a data-parallel job on more ranks\n"
    "  predict bench.et --recorded --report p.json && compare replay.json p.json\n"
    "  predict bench.et --platform here.platform.json  from what calibrate measured\n"
    "  predict bench.et --platform here.platform.json --batch 64:256 --explain\n"
    "  predict bench.et --card H100                    on a GPU, by the platforms that ship\n"
    "  predict --card H100 --format json               the card's data sheet\n"
    "  predict --operators rows.csv --platform here.platform.json -o out.csv\n"
    "  predict --collectives rows.jsonl --platform comms.platform.json --card H100\n"
    "  predict --from-profile k.json.gz --card MI300X  a profile's step on another card\n";

void add_options(CommandLine& line, PredictArguments& arguments, std::vector<std::string>& what_if,
                 std::string& batch, std::string& size) {
  line.add("BENCH", arguments.paths, "A bench.et; or traces, which are compiled first");
  line.add_flag("--recorded", arguments.recorded,
                "Costs are the times of the linked profile: the simulator alone");
  line.add("--platform FILE", arguments.platform,
           "Costs are those of the models that calibrate fitted")
      .excludes({"--recorded"});
  line.add("--card CARD", arguments.card,
           "Predict for this GPU, measured or not: a name whose data sheet is known, such as H100, "
           "or "
           "a specification file. Without --platform or --from-profile by the platforms that ship: "
           "A100, H100, H200, L40S and B200 were measured")
      .excludes({"--recorded"});
  line.add("--device NAME", arguments.device,
           "With --platform: use the models of this measured device; with --operators for all rows")
      .needs("--platform")
      .excludes({"--card"});
  line.add_number("--ranks-per-node N", arguments.ranks_per_node, 1, kMostRanks,
                  "Ranks that share a node, in order of their numbers");
  line.begin(FlagGroup::kRuns);
  line.add_number("--threads N", arguments.threads, 1, 4096,
                  "With --platform: CPU threads of an operator; with --operators the default for "
                  "rows without a thread count")
      .needs("--platform");
  line.add("--what-if QUESTION", what_if,
           "'TARGET xFACTOR' multiplies times: network, host, a class (matmul), a kind of "
           "communication (allreduce), 'rank 3', 'node 2 network', or a regular expression of "
           "operators' names; 'ranks even' and 'rank 3 even' give ranks the usual times. "
           "Several are applied one after the other")
      .repeats();
  line.add("--batch SIZES", batch,
           "FROM:TO, such as 64:256: predict batch size TO instead of the recorded FROM (of one "
           "micro-batch, where a step accumulates gradients of several); --explain prints which "
           "shapes change. Not with --recorded: its times are FROM's")
      .excludes({"--recorded"});
  line.add("--size SIZES", size,
           "FROM:TO, such as 512:2048: the same of the length of sequences, or of another size of "
           "the data, that nothing else has")
      .excludes({"--recorded", "--batch"});
  add_world_options(line, arguments.world);
  line.begin(FlagGroup::kTrust);
  add_allow_option(line, arguments.allowed_operators);
  line.begin(FlagGroup::kOutput);
  line.add("--report FILE", arguments.report, "Write the prediction, as JSON, to this file");
  line.add("--trace FILE", arguments.trace,
           "Write the last two iterations as a Chrome trace, which Perfetto opens");
  line.add_flag("--explain", arguments.explain, "Text: what each what-if changes, by operator");
  line.add("--top N", arguments.top, "Text: rows of the longer tables");
}

/// Adds options for a table of operators, or for a profile, instead of a step.
void add_other_inputs(CommandLine& line, PredictArguments& arguments) {
  const std::vector<std::string> of_jobs = {
      "BENCH",   "--recorded", "--what-if", "--world-size", "--ranks-per-program",
      "--group", "--trace",    "--explain"};
  line.begin(FlagGroup::kInput);
  line.add("--operators FILE", arguments.table,
           "Predict a table of single operators in place of a step: columns as in docs/formats.md, "
           "an operator-times file, or a Kineto profile")
      .excludes(of_jobs)
      .excludes({"--batch", "--size", "--report"});
  line.add("--collectives FILE", arguments.collectives,
           "Predict a file of communication in place of a step: collective rows as in "
           "docs/formats.md, with times or without, or nccl-tests' output")
      .excludes(of_jobs)
      .excludes({"--batch", "--size", "--operators", "--threads", "--report"});
  line.add("--from-profile FILE", arguments.profile,
           "Predict the device time of a Kineto profile's step on another card, from the kernels' "
           "recorded times. Needs --card")
      .needs("--card")
      .excludes(of_jobs)
      .excludes({"--platform", "--device", "--threads"});
  line.add("--from-card CARD", arguments.from_card,
           "With --from-profile: the card that the profile is of (default: as it says)")
      .needs("--from-profile");
  line.begin(FlagGroup::kOutput);
  line.add("-o,--output FILE", arguments.output, "With --operators: the table with predictions")
      .needs("--operators");
}

}  // namespace

PredictArguments read_predict_arguments(int argc, char** argv) {
  PredictArguments arguments;
  std::vector<std::string> what_if;
  std::string batch;
  std::string size;
  CommandLine line(
      {.name = "predict",
       .description =
           "Predicts how long an iteration of a benchmark takes, by simulating its threads, "
           "streams and ranks, without running anything. Or how long single operators take.",
       .examples = kExamples,
       .failure = "the result could not be written",
       .common = {"--recorded", "--platform", "--card", "--operators", "--what-if", "--batch",
                  "--world-size", "--ranks-per-node", "--report", "--explain", "--format"}});
  add_options(line, arguments, what_if, batch, size);
  add_other_inputs(line, arguments);
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "the result is printed unless --report takes it");
  line.parse(argc, argv);
  arguments.assumes_nodes = line.first_given({"--ranks-per-node"}) == nullptr;
  constexpr const char* kHint = "predict --help shows examples";
  if (!arguments.profile.empty()) {
    refuse_if(!(batch + size).empty(), "a profile's kernels keep their sizes", "--batch, --size",
              "a benchmark of it", "--from-profile",
              "generate PROFILE -o bench.et (of a profile with record_shapes=True), then predict "
              "bench.et --card CARD --batch FROM:TO");
    return arguments;
  }
  refuse_if(!arguments.recorded && arguments.platform.empty() && arguments.card.empty(),
            "no costs to predict from", "", "--recorded, --platform or --card", "none of them",
            kHint);
  if (!arguments.collectives.empty()) {
    return arguments;
  }
  if (!arguments.table.empty()) {
    refuse_if(arguments.format == Format::kHtml, "there is no page of single operators",
              "--format html", "a step: a benchmark or traces", "--operators");
    refuse_if(arguments.format == Format::kJson, "single operators are written as a table",
              "--format json", "csv, or no --format", "--operators");
    return arguments;
  }
  if (arguments.paths.empty() && !arguments.card.empty() && arguments.format == Format::kJson) {
    return arguments;
  }
  refuse_if(arguments.paths.empty(), "nothing to predict", "",
            "a benchmark, traces, --operators, or a --card to show with --format json",
            "none of them", kHint);
  if (!batch.empty() || !size.empty()) {
    arguments.batch = generator::parse_batch_size(batch + size, !size.empty());
  }
  check_world_options(arguments.world);
  arguments.world.shares_programs = true;
  for (const std::string& text : what_if) {
    arguments.what_if.push_back(predictor::parse_what_if(text));
  }
  return arguments;
}

}  // namespace understudy::cli
