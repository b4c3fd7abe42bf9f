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
  const auto refuse = [](const char* summary, const char* field, const char* expected,
                         const char* got) {
    throw et_schema::usage_error(
        summary,
        {.field = field, .expected = expected, .got = got, .hint = "shard --help shows examples"});
  };
  if (arguments.draw && !arguments.tables.empty()) {
    refuse("shard either draws tables or places them", "--draw", "no TABLES beside it", "both");
  }
  if (!arguments.draw && arguments.tables.empty()) {
    refuse("no tables to place", "TABLES", "a file of tables, or --draw", "neither");
  }
  if (arguments.draw && arguments.output.empty()) {
    refuse("--draw needs a file to write to", "--output", "the file to write", "none");
  }
  if (arguments.heavy && !arguments.draw) {
    refuse("--heavy needs --draw", "--heavy", "--draw beside it", "none");
  }
  if (arguments.nodes > arguments.ranks) {
    refuse("more nodes than ranks", "--nodes", "at most as many as --ranks", "more");
  }
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
  app->add_option("--ranks", arguments.ranks, "Ranks that hold the tables")
      ->required()
      ->check(CLI::Range(1, kMostRanks))
      ->type_name("N");
  app->add_option("--nodes", arguments.nodes, "Nodes that the ranks are on")
      ->check(CLI::Range(1, kMostRanks))
      ->type_name("N")
      ->default_str("1");
  app->add_option("--platform", arguments.platform,
                  "A platform file of calibrate (default: published figures of a V100)")
      ->type_name("FILE");
  app->add_option("--batch", arguments.batch, "Samples per rank and step (default: the file's)")
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("N");
  app->add_option("--memory", arguments.memory_gib,
                  "GiB that the tables may take on a rank (default: 80 % of a V100's 32 GiB; with "
                  "--platform no limit)")
      ->check(CLI::Range(1e-6, 1e9))
      ->type_name("GiB");
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
  add_format_option(*app, arguments.format, true);
  add_quiet_option(*app, arguments.quiet, "the plan is still printed");
  parse_arguments(*app, argc, argv);
  refuse_misfits(arguments);
  return arguments;
}

}  // namespace understudy::cli
