#include "predict/arguments.h"

#include <fmt/format.h>

#include <utility>

#include "compile/compile.h"
#include "et_schema/support/error.h"

namespace understudy::cli {
namespace {

constexpr int kMostRanks = 100'000;

constexpr const char* kExamples =
    "  predict bench.et --recorded                      from the linked profile's times: the "
    "simulator alone\n"
    "  predict fleet_samples/gpt_ddp --recorded         from traces, compiled as replay does it\n"
    "  predict bench.et --recorded --what-if 'matmul x0.5' --what-if 'network x2' --explain\n"
    "                                                   matrix products in half the time, "
    "communication in twice\n"
    "  predict bench.et --recorded --what-if 'host x0'  with a host that takes no time\n"
    "  predict bench.et --recorded --world-size 64      a data-parallel job on more ranks\n"
    "  predict bench.et --recorded --trace out.json     the timeline, for ui.perfetto.dev\n"
    "  predict bench.et --recorded --format html > p.html   the prediction as a page\n"
    "  predict bench.et --recorded --report p.json && compare replay.json p.json\n"
    "  predict bench.et --platform here.platform.json --threads 2\n"
    "                                                   from what calibrate measured\n"
    "  predict bench.et --platform here.platform.json --batch 64:256 --explain\n"
    "                                                   with another batch size, and which shapes "
    "that changes\n"
    "  predict --operators rows.csv --platform here.platform.json -o out.csv\n"
    "                                                   a table of single operators and their "
    "times\n"
    "  predict --operators rows.csv --platform cards.platform.json --card h100.json\n"
    "                                                   on a card that was not measured\n"
    "  predict --from-profile kineto.json.gz --card MI300X\n"
    "                                                   a profile's step on another card, without "
    "traces\n";

void add_options(CLI::App& app, PredictArguments& arguments, std::string& overlap,
                 std::vector<std::string>& what_if, std::string& batch, std::string& size,
                 std::string& gathers) {
  app.add_option("BENCH", arguments.paths, "A bench.et; or traces, which are compiled first");
  CLI::Option* recorded =
      app.add_flag("--recorded", arguments.recorded,
                   "Costs are the times of the linked profile: the simulator alone");
  app.add_option("--platform", arguments.platform,
                 "Costs are those of the models that calibrate fitted")
      ->type_name("FILE")
      ->excludes(recorded);
  app.add_option("--card", arguments.card,
                 "With --platform or --from-profile: predict for this GPU, measured or not: a name "
                 "whose data sheet is known, such as H100, or a specification file")
      ->type_name("CARD");
  app.add_option(
         "--device", arguments.device,
         "With --platform: use the models of this measured device; with --operators in place of "
         "the rows' own")
      ->type_name("NAME")
      ->needs("--platform")
      ->excludes("--card");
  add_number_option(
      app, "--threads", arguments.threads, 1, 4096, "N",
      "With --platform: CPU threads of an operator; with --operators the default for rows "
      "without a thread count")
      ->needs("--platform");
  app.add_option("--what-if", what_if,
                 "'TARGET xFACTOR' multiplies times: network, host, a class (matmul), a kind of "
                 "communication (allreduce), or a regular expression of operators' names; 'streams "
                 "1' puts a device's work on one stream. Several are applied one after the other")
      ->type_name("QUESTION")
      ->allow_extra_args(false);
  app.add_option(
         "--batch", batch,
         "FROM:TO, such as 64:256: predict batch size TO instead of the recorded FROM; --explain "
         "prints which shapes change. Needs --platform: recorded times are FROM's")
      ->type_name("SIZES")
      ->needs("--platform");
  app.add_option("--size", size,
                 "FROM:TO, such as 512:2048: the same of the length of sequences, or of another "
                 "size of the data, that nothing else has")
      ->type_name("SIZES")
      ->needs("--platform")
      ->excludes("--batch");
  add_number_option(
      app, "--world-size", arguments.world_size, 1, kMostRanks, "N",
      "Predict a job whose ranks do alike on this many ranks, each with the recorded batch");
  add_allow_option(app, arguments.allowed_operators);
  add_map_option(app, arguments.op_maps);
  app.add_option("--gathers", gathers,
                 "With --world-size, of gathers and scatters: whole (all of it stays as large: "
                 "parameters of which each rank has a part) or parts (each rank's part does)")
      ->check(CLI::IsMember({"whole", "parts"}).description(""))
      ->type_name("SIZE")
      ->needs("--world-size");
  add_number_option(app, "--ranks-per-node", arguments.ranks_per_node, 1, kMostRanks, "N",
                    "Ranks that share a node, in order of their numbers")
      ->capture_default_str();
  app.add_option("--overlap", overlap,
                 "How many times longer work takes beside other work of the same device, such as "
                 "compute=1.1,communication=1.3,streams=1.2 (default: the platform's, where it has "
                 "them, else 1 each)")
      ->type_name("FACTORS");
  app.add_option("--report", arguments.report, "Write the prediction, as JSON, to this file");
  app.add_option("--trace", arguments.trace,
                 "Write the last two iterations as a Chrome trace, which Perfetto opens");
  app.add_flag("--explain", arguments.explain, "Text: what each what-if changes, by operator");
  app.add_option("--top", arguments.top, "Text: rows of the longer tables")->capture_default_str();
}

void add_table_options(CLI::App& app, OperatorsArguments& table) {
  CLI::Option* operators =
      app.add_option("--operators", table.table,
                     "Predict a table of single operators in place of a step: columns as in "
                     "docs/formats.md, an operator-times file, or a Kineto profile")
          ->type_name("FILE")
          ->needs("--platform");
  for (const char* of_step :
       {"BENCH", "--recorded", "--what-if", "--batch", "--size", "--world-size", "--gathers",
        "--report", "--trace", "--explain", "--overlap"}) {
    operators->excludes(of_step);
  }
  app.add_option("-o,--output", table.output, "With --operators: the table with predictions")
      ->type_name("FILE")
      ->needs(operators);
}

void add_profile_options(CLI::App& app, FromProfileArguments& profile) {
  CLI::Option* from_profile =
      app.add_option("--from-profile", profile.profile,
                     "Predict the device time of a Kineto profile's step on another card, from the "
                     "kernels' recorded times. Needs --card")
          ->type_name("FILE")
          ->needs("--card");
  for (const char* of_step :
       {"BENCH", "--recorded", "--platform", "--device", "--threads", "--what-if", "--batch",
        "--size", "--world-size", "--gathers", "--trace", "--explain", "--overlap"}) {
    from_profile->excludes(of_step);
  }
  app.add_option("--from-card", profile.from_card,
                 "With --from-profile: the card that the profile is of (default: as it says)")
      ->type_name("CARD")
      ->needs(from_profile);
}

}  // namespace

PredictArguments read_predict_arguments(int argc, char** argv) {
  PredictArguments arguments;
  OperatorsArguments table;
  std::string overlap;
  std::vector<std::string> what_if;
  std::string batch;
  std::string size;
  std::string gathers;
  const auto app = make_app(
      {.name = "predict",
       .description =
           "Predicts how long an iteration of a benchmark takes, by simulating its threads, "
           "streams and ranks, without running anything. Or how long single operators take.",
       .examples = kExamples,
       .failure = "the result could not be written"});
  add_options(*app, arguments, overlap, what_if, batch, size, gathers);
  add_table_options(*app, table);
  FromProfileArguments profile;
  add_profile_options(*app, profile);
  add_format_option(*app, arguments.format);
  add_quiet_option(*app, arguments.quiet, "the result is printed unless --report takes it");
  parse_arguments(*app, argc, argv);
  constexpr const char* kHint = "predict --help shows examples";
  if (!profile.profile.empty()) {
    profile.card = arguments.card;
    profile.report = arguments.report;
    profile.top = arguments.top;
    profile.format = arguments.format;
    profile.quiet = arguments.quiet;
    arguments.from_profile = std::move(profile);
    return arguments;
  }
  refuse_if(!arguments.card.empty() && arguments.platform.empty(), "a card alone predicts nothing",
            "--card", "--platform or --from-profile beside it", "neither", kHint);
  if (!table.table.empty()) {
    refuse_if(arguments.format == Format::kHtml, "there is no page of single operators",
              "--format html", "a step: a benchmark or traces", "--operators");
    refuse_if(arguments.format == Format::kJson, "single operators are written as a table",
              "--format json", "csv, or no --format", "--operators");
    table.platform = arguments.platform;
    table.card = arguments.card;
    table.device = arguments.device;
    table.threads = arguments.threads;
    table.quiet = arguments.quiet;
    arguments.operators = std::move(table);
    return arguments;
  }
  refuse_if(arguments.paths.empty(), "nothing to predict", "",
            "a benchmark, traces, or --operators", "none of them", kHint);
  refuse_if(!arguments.recorded && arguments.platform.empty(), "no costs to predict from", "",
            "--recorded or --platform", "neither", kHint);
  arguments.overlap = parse_overlap(overlap);
  if (!batch.empty() || !size.empty()) {
    arguments.batch = generator::parse_batch_size(batch + size, !size.empty());
  }
  if (!gathers.empty()) {
    arguments.gathers =
        gathers == "parts" ? predictor::GatherSize::kParts : predictor::GatherSize::kWhole;
  }
  for (const std::string& text : what_if) {
    arguments.what_if.push_back(predictor::parse_what_if(text));
    arguments.options.single_stream |=
        arguments.what_if.back().target == predictor::WhatIfTarget::kSingleStream;
  }
  return arguments;
}

}  // namespace understudy::cli
