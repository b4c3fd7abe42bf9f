#include "shard/arguments.h"

#include <string>

#include "et_schema/support/error.h"

namespace understudy::cli {
namespace {

constexpr int kMostRanks = 65536;

constexpr const char* kExamples =
    "  shard tables.json --ranks 8                          with published figures of a V100\n"
    "  shard tables.json --ranks 8 --platform here.platform.json -o plan.json\n"
    "  shard tables.json --ranks 16 --memory 32 --batch 4096   32 GiB and 4,096 samples a rank\n"
    "  shard tables.json --ranks 8 --cut-any                   large tables in parts, for balance\n"
    "  shard --draw --ranks 4 --heavy --seed 3 -o tables.json  tables to try it on\n";

void refuse_misfits(const ShardArguments& arguments) {
  constexpr const char* kHint = "shard --help shows examples";
  refuse_if(arguments.draw && !arguments.tables.empty(), "shard either draws tables or places them",
            "--draw", "no TABLES beside it", "both", kHint);
  refuse_if(!arguments.draw && arguments.tables.empty(), "no tables to place", "TABLES",
            "a file of tables, or --draw", "neither", kHint);
  refuse_if(arguments.draw && arguments.output.empty(), "--draw needs a file to write to",
            "--output", "the file to write", "none", kHint);
  refuse_if(arguments.heavy && !arguments.draw, "--heavy needs --draw", "--heavy",
            "--draw beside it", "none", kHint);
  refuse_if(arguments.nodes > arguments.ranks, "more nodes than ranks", "--nodes",
            "at most as many as --ranks", "more", kHint);
}

}  // namespace

ShardArguments read_shard_arguments(int argc, char** argv) {
  ShardArguments arguments;
  const auto app = make_app(
      {.name = "shard",
       .description = "Places embedding tables on ranks so that the predicted step is short, and "
                      "compares with seven known heuristics. Splits tables that fit on no rank.",
       .examples = kExamples,
       .success = "a plan was found",
       .failure = "the result could not be written"});
  app->add_option("TABLES", arguments.tables, "A file of tables (docs/formats.md, \"Tables\")");
  add_number_option(*app, "--ranks", arguments.ranks, 1, kMostRanks, "N",
                    "Ranks that hold the tables")
      ->required();
  add_number_option(*app, "--nodes", arguments.nodes, 1, kMostRanks, "N",
                    "Nodes that the ranks are on")
      ->default_str("1");
  app->add_option("--platform", arguments.platform,
                  "A platform file of calibrate (default: published figures of a V100)")
      ->type_name("FILE");
  add_number_option(*app, "--batch", arguments.batch, 1, 1 << 30, "N",
                    "Samples per rank and step (default: the file's)");
  add_number_option(
      *app, "--memory", arguments.memory_gib, 1e-6, 1e9, "GiB",
      "GiB that the tables may take on a rank (default: 80 % of a V100's 32 GiB; with "
      "--platform no limit)");
  app->add_flag("--cut-any", arguments.cuts_any,
                "Also shard tables column-wise that fit, where they hold up the slowest rank");
  app->add_flag("--draw", arguments.draw, "Generate a random table file (--output)");
  app->add_flag("--heavy", arguments.heavy,
                "With --draw: tables with a pooling factor (lookups per sample) of 20 or more");
  app->add_option("--seed", arguments.seed, "Seed of the random heuristic and of --draw")
      ->type_name("N")
      ->default_str("0");
  app->add_option("-o,--output", arguments.output, "Write the plan to this file, as JSON")
      ->type_name("FILE");
  add_format_option(*app, arguments.format);
  add_quiet_option(*app, arguments.quiet, "the plan is still printed");
  parse_arguments(*app, argc, argv);
  refuse_misfits(arguments);
  return arguments;
}

}  // namespace understudy::cli
