#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/bench/bench.h"

namespace understudy::tests {

/// A tensor of a rank that can be read after an iteration, and what its parts of equal size hold.
struct ExpectedTensor {
  et_schema::SlotId slot = 0;
  std::vector<double> parts;
};

/// Programs that fit each other, for a job of so many ranks.
struct RandomJob {
  et_schema::Bench bench;
  std::vector<std::vector<ExpectedTensor>> expected;  ///< by rank
  std::vector<std::uint64_t> communications;          ///< by rank
};

/// Made from one order of collectives, sends and receives over groups drawn at random, twins of the
/// whole world among them. Each rank waits for a call somewhere behind it: by its sequence number,
/// by its tensor or by reading it; and starts what stands between two waits in any order. Some
/// operators run on another thread. The same seed gives the same job on all ranks.
[[nodiscard]] RandomJob random_job(unsigned seed, int ranks);

}  // namespace understudy::tests
