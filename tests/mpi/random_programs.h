#pragma once

#include <cstdint>
#include <vector>

#include "et_schema/formats/bench/bench.h"

namespace understudy::tests {

/// A tensor of a rank that can be read after an iteration, and the numbers in its parts, which are
/// of equal size.
struct ExpectedTensor {
  et_schema::SlotId slot = 0;
  std::vector<double> parts;
};

/// Programs that fit each other, for a job of several ranks.
struct RandomJob {
  et_schema::Bench bench;
  std::vector<std::vector<ExpectedTensor>> expected;  ///< by rank
  std::vector<std::uint64_t> communications;          ///< by rank
};

/// Makes the programs from one order of collectives, sends and receives over groups drawn at
/// random, twins of the whole world among them. Each rank waits for a call somewhere after it, by
/// its sequence number, by its tensor or by reading the tensor; between two waits it starts the
/// calls in any order. Some operators run on another thread. The same seed gives the same job on
/// all ranks.
[[nodiscard]] RandomJob random_job(unsigned seed, int ranks);

}  // namespace understudy::tests
