#pragma once

#include <string>
#include <vector>

#include "cli/pages/document/page.h"
#include "predictor/embedding/plan.h"
#include "predictor/embedding/task.h"

namespace understudy::cli {

/// What `shard` found.
struct Sharding {
  predictor::ShardTask task;
  int ranks = 0;
  double memory_bytes = 0;  ///< infinite: not bounded
  std::string tables_file;
  std::string platform;
  std::vector<predictor::Plan> plans;  ///< the search's first, then the heuristics
};

/// "tables.json: 47 tables, 52.5 GiB", of tables that were drawn.
[[nodiscard]] std::string drawn_text(const predictor::ShardTask& task, const std::string& path);
/// The plans by time, the chosen one's ranks, what was cut. Its data: docs/formats.md, "Sharding
/// plan".
[[nodiscard]] pages::Page sharding_page(const Sharding& sharding);

}  // namespace understudy::cli
