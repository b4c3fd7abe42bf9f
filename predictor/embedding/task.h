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

/// The tables of a model that is trained with its batch split over all ranks and its tables placed
/// on them.
struct ShardTask {
  std::vector<NamedTable> tables;
  std::int64_t batch = 2048;  ///< samples a rank: all ranks' samples meet each table
  /// Each rank reads all samples' indices of its tables; else it reads its own samples' of all
  /// tables, and they are exchanged.
  bool has_local_indices = false;
  bool operator==(const ShardTask&) const = default;
};

inline constexpr int kTablesVersion = 1;

/// A file of tables (docs/formats.md, "Tables").
[[nodiscard]] std::string to_json(const ShardTask& task);
/// Reads it. `format` and `version` may be absent: such a file is easily written by hand. Throws
/// Error (bad input) with the field: no table, a name twice, what read_value() of a table refuses.
[[nodiscard]] ShardTask parse_tables(std::string_view text, const std::string& file);

/// What a drawn task is like.
struct DrawOptions {
  int ranks = 4;
  bool is_heavy = false;  ///< tables of 20 lookups a bag or more
  std::uint64_t seed = 0;
  double memory_bytes = 0;  ///< of a rank; 80 % of all ranks' is what tables take at most; 0: any
};

/// A task as Lin et al. draw theirs (arXiv 2404.12674): of n ranks int(13 n 0.7) to int(13 n 1.3)
/// tables. Their tables come from a dataset; these have its spread: rows from a hundred to some ten
/// million, uniform in ln; 32 to 256 wide; 1 to 20 or, if heavy, 20 to 200 lookups a bag; reuse as
/// the dataset's of 2022, tilted for each table. The same seed draws the same task everywhere.
/// Throws Error (usage) where none of many draws fits into the memory.
[[nodiscard]] ShardTask draw_task(const DrawOptions& options);

}  // namespace understudy::predictor
