#include "arguments.h"

#include "cli/common/command_line.h"
#include "cli/compile/compile.h"
#include "cli/compile/world_options.h"
#include "predictor/operators/sustained.h"

namespace understudy::cli {
namespace {

constexpr int kMostRanks = 100'000;

constexpr const char* kExamples =
    R"(  understudy predict bench.et                                from the linked profile's times
  understudy predict bench.et --what-if 'matmul x0.5' --what-if 'network x2'
  understudy predict bench.et --world-size 64                a data-parallel job on more ranks
  understudy predict bench.et --report p.json && understudy compare replay.json p.json
  understudy predict bench.et --platform here.platform.json  from what calibrate measured
  understudy predict bench.et --card H100                    on a GPU, by the platforms that ship
  understudy predict --card H100 --format json               the card's data sheet
  understudy predict --operators rows.csv --platform here.platform.json --report out.csv
  understudy predict --from-profile k.json.gz --card MI300X  a profile's step on another card)";

void add_options(CommandLine& line, PredictArguments& arguments, std::vector<std::string>& what_if,
                 BatchTexts& batch) {
  line.add("BENCH", arguments.paths,
           "A bench.et; or traces, which are compiled first. Without --platform and --card, costs "
           "are the times of the linked profile: the simulator alone");
  line.add("--platform FILE", arguments.platform,
           "Costs are those of the models that calibrate fitted");
  line.add("--card CARD", arguments.card,
           "Predict for this GPU, measured or not: a name whose data sheet is known, such as H100, "
           "or a specification file; list names all. Without --platform or --from-profile by the "
           "platforms that ship: A100, H100, H200, L40S and B200 were measured. With --platform "
           "also the name of a device in it");
  line.add_number("--ranks-per-node N", arguments.ranks_per_node, 1, kMostRanks,
                  "Ranks that share a node, in order of their numbers");
  line.add("--network NAME", arguments.network,
           "The network between nodes, such as NDR400x8; list names all that are known");
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
  add_batch_options(line,
                    "predict batch size TO instead of the recorded FROM (of one micro-batch, where "
                    "a step accumulates gradients of several). Recorded times are FROM's: needs "
                    "--card or --platform",
                    batch);
  add_world_options(line, arguments.world);
  line.add("--explain FILE", arguments.explain,
           "Take apart a step that somebody published, a row of this CSV: FLOP, rates, exposed "
           "communication, host, and what is left")
      .needs("--card");
  line.begin(FlagGroup::kOutput);
  line.add("--report FILE", arguments.report,
           "Write the prediction to this file, as JSON; with --operators the table, as CSV");
  line.add("--trace FILE", arguments.trace,
           "Write the last two iterations as a Chrome trace, which Perfetto opens");
}

/// Adds options for a table of operators, or for a profile, instead of a step.
void add_other_inputs(CommandLine& line, PredictArguments& arguments) {
  const std::vector<std::string> of_jobs = {"BENCH", "--what-if", "--world-size", "--group",
                                            "--trace"};
  line.begin(FlagGroup::kInput);
  line.add("--operators FILE", arguments.table,
           "Predict a table of single operators in place of a step: columns as in docs/formats.md, "
           "an operator-times file, or a Kineto profile; or of communication: collective rows as "
           "in docs/formats.md, with times or without, or nccl-tests' output")
      .excludes(of_jobs)
      .excludes({"--batch", "--size"});
  line.add("--from-profile FILE", arguments.profile,
           "Predict the device time of a Kineto profile's step on another card, from the kernels' "
           "recorded times. Needs --card")
      .excludes(of_jobs)
      .excludes({"--platform", "--threads"});
  line.add("--from-card CARD", arguments.from_card,
           "With --from-profile: the card that the profile is of (default: as it says)")
      .needs("--from-profile");
}

}  // namespace

PredictArguments read_predict_arguments(int argc, char** argv) {
  PredictArguments arguments;
  std::vector<std::string> what_if;
  BatchTexts batch;
  CommandLine line(
      {.name = "understudy predict",
       .description =
           "Predicts how long an iteration of a benchmark takes, by simulating its threads, "
           "streams and ranks, without running anything. Or how long single operators take.",
       .examples = kExamples,
       .success = "a time was predicted",
       .common = {"--platform", "--card", "--from-profile", "--what-if", "--batch", "--world-size",
                  "--ranks-per-node", "--report", "--format"}});
  line.was_replaced("--recorded",
                    "leave out --card and --platform: recorded times are the default");
  add_options(line, arguments, what_if, batch);
  add_other_inputs(line, arguments);
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "the result is printed unless --report takes it");
  line.parse(argc, argv);
  arguments.assumes_nodes = !line.is_given("--ranks-per-node");
  constexpr const char* kHint = "understudy predict --help shows examples";
  if (arguments.card == kAllNames || arguments.network == kAllNames) {
    return arguments;
  }
  refuse_if(!arguments.network.empty() && predictor::find_fabric(arguments.network) == nullptr,
            "no such network", "--network", "a name of a network", arguments.network,
            "understudy predict --network list names all");
  if (!arguments.profile.empty()) {
    refuse_if(arguments.card.empty(), "no card to predict for", "--card",
              "a card's name, or its JSON file", "none",
              "understudy predict --from-profile PROFILE --card H100; --card list names all");
    refuse_if(
        !(batch.batch + batch.size).empty(), "a profile's kernels keep their sizes",
        "--batch, --size", "a benchmark of it", "--from-profile",
        "understudy generate PROFILE -o bench.et (of a profile with record_shapes=True), then "
        "understudy predict bench.et --card CARD --batch FROM:TO");
    return arguments;
  }
  arguments.recorded = arguments.platform.empty() && arguments.card.empty();
  arguments.options.device.lost_beside = arguments.recorded ? 0 : predictor::kLostBeside;
  refuse_if(arguments.recorded && !(arguments.table + batch.batch + batch.size).empty(),
            "recorded times are of the recorded step alone", "", "--card or --platform", "neither",
            kHint);
  if (!arguments.table.empty()) {
    return arguments;
  }
  if (arguments.paths.empty() && !arguments.card.empty() && arguments.format == Format::kJson) {
    return arguments;
  }
  refuse_if(arguments.paths.empty(), "nothing to predict", "",
            "a benchmark, traces, --operators, or a --card to show with --format json",
            "none of them", kHint);
  arguments.batch = batch.parsed();
  check_world_options(arguments.world);
  arguments.world.shares_programs = true;
  for (const std::string& text : what_if) {
    arguments.what_if.push_back(predictor::parse_what_if(text));
  }
  return arguments;
}

}  // namespace understudy::cli
