#include <algorithm>

#include "predictor/embedding/search.h"

namespace understudy::predictor {

std::vector<Shard> parts_of(const ShardTask& task, std::size_t table, std::int64_t parts,
                            double memory_bytes) {
  if (parts < 2) {
    return {whole(task, table)};
  }
  const EmbeddingTable& source = task.tables[table].table;
  const double columns_bytes =
      held_bytes(source) / static_cast<double>(source.dim) * static_cast<double>(kLeastColumns);
  const bool by_columns = source.dim >= 2 * kLeastColumns && columns_bytes <= memory_bytes;
  const std::int64_t size = by_columns ? source.dim : source.rows;
  const std::int64_t unit = by_columns ? kLeastColumns : 1;
  const std::int64_t step = ((size + parts - 1) / parts + unit - 1) / unit * unit;
  std::vector<Shard> shards;
  for (std::int64_t begin = 0; begin < size; begin += step) {
    shards.push_back(
        {table, by_columns ? Split::kColumns : Split::kRows, begin, std::min(size, begin + step)});
  }
  return shards;
}

}  // namespace understudy::predictor
