#pragma once

#include <cstdint>
#include <string>

#include "et_schema/bench/bench.h"

namespace understudy::composer {

/// What was made even, over all ranks.
struct Reduction {
  std::uint64_t loops = 0;
  std::uint64_t instructions = 0;
  std::uint64_t in_loops = 0;  ///< of them
  std::uint64_t written = 0;   ///< of those in loops: the first repetitions
  double largest_change = 0;   ///< of an operator class's recorded time, as a share of it
  std::string of_class;
};

/// Gives each repetition of a loop the mean recorded times, and even starts. Places in the
/// original's heap and page faults are left out where the repetitions differ in them. Tensors,
/// operators and their order stay as they are.
[[nodiscard]] Reduction even_loops(et_schema::Bench& bench);

}  // namespace understudy::composer
