#pragma once

#include <string>
#include <vector>

#include "cli/pages/document/page.h"
#include "predictor/embedding/plan.h"
#include "predictor/embedding/task.h"

namespace understudy::cli {

/// Result of `shard`.
struct Sharding {
  predictor::ShardTask task;
  int ranks = 0;
  double memory_bytes = 0;  ///< memory of a rank; infinite: unlimited
  std::string tables_file;
  std::string platform;
  std::vector<std::string> assumptions;
  std::vector<predictor::Plan> plans;  ///< the search's plan first, then the heuristics'
};

/// Shows the plans by time, the ranks of the chosen plan, and where each table is. Its data:
/// docs/formats.md, "Sharding plan".
[[nodiscard]] pages::Page sharding_page(const Sharding& sharding);

}  // namespace understudy::cli
