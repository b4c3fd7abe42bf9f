#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "predictor/embedding/tables.h"

namespace understudy::predictor {

struct NamedTable {
  std::string name;
  EmbeddingTable table;
  bool operator==(const NamedTable&) const = default;
};

/// The tables of a model. The batch is split over all ranks, the tables are distributed among them.
struct ShardTask {
  std::vector<NamedTable> tables;
  std::int64_t batch = 2048;  ///< samples per rank; each table gets the samples of all ranks
  /// True: each rank reads the indices of all samples for its tables. False: it reads its own
  /// samples' indices for all tables, and the ranks exchange them.
  bool has_local_indices = false;
  bool operator==(const ShardTask&) const = default;
};

inline constexpr int kTablesVersion = 1;

/// Writes a file of tables (docs/formats.md, "Tables").
[[nodiscard]] std::string to_json(const ShardTask& task);
/// Reads such a file. `format` and `version` are optional, because these files are often written by
/// hand. Throws Error (bad input) with the field if there is no table or a name occurs twice, and
/// as read_value() of a table does.
[[nodiscard]] ShardTask parse_tables(std::string_view text, const std::string& file);

/// Properties of a drawn task.
struct DrawOptions {
  int ranks = 4;
  bool is_heavy = false;  ///< tables have 20 lookups per bag or more
  std::uint64_t seed = 0;
  /// Memory of a rank. The tables take at most 80 % of all ranks' memory; 0: no limit.
  double memory_bytes = 0;
};

/// Draws a task as Lin et al. do (arXiv 2404.12674): for n ranks int(13 n 0.7) to int(13 n 1.3)
/// tables. The tables follow their dataset's distribution: a hundred to some ten million rows,
/// uniform in ln; 32 to 256 columns; 1 to 20 or, if heavy, 20 to 200 lookups per bag; reuse as in
/// the dataset of 2022, tilted for each table. A seed gives the same task on all machines. Throws
/// Error (usage) if none of many draws fits into the memory.
[[nodiscard]] ShardTask draw_task(const DrawOptions& options);

}  // namespace understudy::predictor
