#include <filesystem>

#include "arguments.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "document.h"
#include "et_schema/base/read_file.h"
#include "platform.h"
#include "predictor/embedding/search.h"
#include "predictor/embedding/task.h"

namespace understudy::cli {
namespace {

Sharding place(const ShardArguments& arguments) {
  Sharding sharding;
  sharding.task = predictor::parse_tables(
      et_schema::read_file(arguments.tables, et_schema::process_limits()), arguments.tables);
  const ShardPlatform platform(arguments);
  const predictor::ShardCosts costs = platform.costs();
  sharding.ranks = arguments.ranks;
  sharding.memory_bytes = platform.memory_bytes();
  sharding.tables_file = std::filesystem::path(arguments.tables).filename();
  sharding.platform = platform.name();
  sharding.assumptions = platform.assumptions();
  const predictor::Placement on{sharding.task, sharding.ranks, sharding.memory_bytes, costs};
  const auto heuristics = predictor::heuristic_plans(on);
  sharding.plans.push_back(predictor::search_plan(on, heuristics, {.cuts_any = true}));
  sharding.plans.insert(sharding.plans.end(), heuristics.begin(), heuristics.end());
  return sharding;
}

int shard(const ShardArguments& arguments) {
  Progress progress(arguments.quiet);
  progress.tick();
  progress.show("searching");
  const pages::Page page = sharding_page(place(arguments));
  progress.clear();
  print_output(pages::written(page, arguments.format));
  return kStatusOk;
}

const Verb kVerb("shard", "Places embedding tables on ranks",
                 [](int argc, char** argv) { return shard(read_shard_arguments(argc, argv)); });

}  // namespace
}  // namespace understudy::cli
