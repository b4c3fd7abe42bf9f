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

}  // namespace understudy::predictor
