#pragma once

#include <string>
#include <vector>

#include "predictor/embedding/plan.h"
#include "predictor/embedding/task.h"

namespace understudy::cli {

inline constexpr double kNsPerMs = 1e6;

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
/// For a person: the plans by time, the chosen one's ranks, what was cut.
[[nodiscard]] std::string sharding_text(const Sharding& sharding);
/// The plan (docs/formats.md, "Sharding plan").
[[nodiscard]] std::string sharding_json(const Sharding& sharding);
/// The same as one long table.
[[nodiscard]] std::string sharding_csv(const Sharding& sharding);

}  // namespace understudy::cli
