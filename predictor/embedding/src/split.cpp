#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "et_schema/base/error.h"
#include "predictor/embedding/search.h"

namespace understudy::predictor {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

[[noreturn]] void refuse(const ShardTask& task, int ranks, double memory_bytes) {
  double sum = 0;
  for (const NamedTable& table : task.tables) {
    sum += held_bytes(table.table);
  }
  throw et_schema::usage_error("the tables do not fit",
                               {.field = "--memory",
                                .expected = fmt::format("{:.3g} GiB on each of {} ranks, or more",
                                                        sum / kGiB / ranks, ranks),
                                .got = fmt::format("{:.3g} GiB", memory_bytes / kGiB),
                                .hint = "more ranks, more memory, or a smaller element type"});
}

/// Cuts [0, size) into `parts` parts. All except the last are multiples of `unit`.
void cut(std::vector<Shard>& shards, std::size_t table, Split split, std::int64_t size,
         std::int64_t parts, std::int64_t unit) {
  const std::int64_t step = ((size + parts - 1) / parts + unit - 1) / unit * unit;
  for (std::int64_t begin = 0; begin < size; begin += step) {
    shards.push_back({table, split, begin, std::min(size, begin + step)});
  }
}

/// Splits by columns as far as possible, and if that is not enough, the column parts by rows.
void split_table(std::vector<Shard>& shards, const ShardTask& task, std::size_t index,
                 double memory_bytes) {
  const EmbeddingTable& table = task.tables[index].table;
  const double bytes = held_bytes(table);
  if (bytes <= memory_bytes) {
    shards.push_back(whole(task, index));
    return;
  }
  const double column_bytes = bytes / static_cast<double>(table.dim);
  const auto most_columns = static_cast<std::int64_t>(std::min(memory_bytes / column_bytes, 1e9)) /
                            kLeastColumns * kLeastColumns;
  if (most_columns >= kLeastColumns) {
    const std::int64_t parts = (table.dim + most_columns - 1) / most_columns;
    cut(shards, index, Split::kColumns, table.dim, parts, kLeastColumns);
    return;
  }
  const double row_bytes = bytes / static_cast<double>(table.rows);
  const double most_rows = std::floor(memory_bytes / row_bytes);
  const double parts = std::ceil(static_cast<double>(table.rows) / most_rows);
  cut(shards, index, Split::kRows, table.rows, static_cast<std::int64_t>(parts), 1);
}

}  // namespace

std::optional<std::pair<Shard, Shard>> halves_of(const ShardTask& task, const Shard& shard,
                                                 bool by_rows) {
  const EmbeddingTable& table = task.tables[shard.table].table;
  const bool has_rows = shard.split == Split::kRows;
  const std::int64_t begin = shard.split == Split::kColumns ? shard.begin : 0;
  const std::int64_t end = shard.split == Split::kColumns ? shard.end : table.dim;
  const std::int64_t columns = (end - begin) / 2 / kLeastColumns * kLeastColumns;
  if (!has_rows && columns >= kLeastColumns) {
    return std::pair(Shard{shard.table, Split::kColumns, begin, begin + columns},
                     Shard{shard.table, Split::kColumns, begin + columns, end});
  }
  const std::int64_t first = has_rows ? shard.begin : 0;
  const std::int64_t last = has_rows ? shard.end : table.rows;
  if (!by_rows || shard.split == Split::kColumns || last - first < 2) {
    return std::nullopt;
  }
  const std::int64_t middle = first + (last - first) / 2;
  return std::pair(Shard{shard.table, Split::kRows, first, middle},
                   Shard{shard.table, Split::kRows, middle, last});
}

std::vector<Shard> shards_that_fit(const ShardTask& task, int ranks, double memory_bytes) {
  double sum = 0;
  for (const NamedTable& table : task.tables) {
    sum += held_bytes(table.table);
    const double row_bytes = held_bytes(table.table) / static_cast<double>(table.table.rows);
    if (sum > memory_bytes * ranks || row_bytes > memory_bytes) {
      refuse(task, ranks, memory_bytes);
    }
  }
  std::vector<Shard> shards;
  for (std::size_t table = 0; table < task.tables.size(); ++table) {
    split_table(shards, task, table, memory_bytes);
  }
  return shards;
}

}  // namespace understudy::predictor
