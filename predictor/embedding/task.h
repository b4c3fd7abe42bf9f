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

/// Reads a file of tables (docs/formats.md, "Tables"). `format` and `version` are optional, because
/// these files are often written by hand. Throws Error (bad input) with the field if there is no
/// table or a name occurs twice, and as read_value() of a table does.
[[nodiscard]] ShardTask parse_tables(std::string_view text, const std::string& file);

}  // namespace understudy::predictor
