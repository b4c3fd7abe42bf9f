#pragma once

#include <cstdint>

#include "predictor/embedding/task.h"

namespace understudy::predictor {

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
