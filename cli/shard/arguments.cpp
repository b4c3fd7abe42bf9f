#include "arguments.h"

namespace understudy::cli {
namespace {

constexpr int kMostRanks = 65536;

constexpr const char* kExamples = R"(  understudy shard tables.json --ranks 8 --card H100
  understudy shard tables.json --ranks 8 --platform here.platform.json --format json >plan.json
  understudy shard tables.json --ranks 16 --platform p.json --memory 32       32 GiB a rank)";

}  // namespace

ShardArguments read_shard_arguments(int argc, char** argv) {
  ShardArguments arguments;
  CommandLine line({.name = "understudy shard",
                    .description = "Places embedding tables on ranks so that the predicted step is "
                                   "short, and compares with four known heuristics. Cuts tables in "
                                   "parts until all fit, and where they hold up the slowest rank.",
                    .examples = kExamples,
                    .success = "a plan was found"});
  line.add("TABLES", arguments.tables, "A file of tables (docs/formats.md, \"Tables\")").required();
  line.add_number("--ranks N", arguments.ranks, 1, kMostRanks, "Ranks that hold the tables")
      .required();
  line.add_number("--nodes N", arguments.nodes, 1, kMostRanks, "Nodes that the ranks are on");
  line.add("--platform FILE", arguments.platform, "A platform file of calibrate");
  line.add("--card CARD", arguments.card,
           "A GPU whose data sheet is known, such as H100, or a specification file: what no "
           "platform has measured of it is assumed, and said so");
  line.add_number("--memory GiB", arguments.memory_gib, 1e-6, 1e9,
                  "GiB that the tables may take on a rank (default: no limit)");
  line.add_format(arguments.format);
  line.add_quiet(arguments.quiet, "the plan is printed");
  line.parse(argc, argv);
  refuse_if(arguments.platform.empty() && arguments.card.empty(), "no costs to place tables by", "",
            "--card or --platform", "neither", "understudy shard --help shows examples");
  refuse_if(arguments.nodes > arguments.ranks, "more nodes than ranks", "--nodes",
            "at most as many as --ranks", "more", "understudy shard --help shows examples");
  return arguments;
}

}  // namespace understudy::cli
