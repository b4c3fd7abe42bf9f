#pragma once

#include <cstdint>
#include <string>

#include "composer/reduce/reduce.h"
#include "et_schema/bench/bench.h"

namespace understudy::cli {

/// What --reduce did.
struct Reduced {
  composer::Reduction reduction;
  std::uint64_t bytes_before = 0;  ///< of the file without loops
};

/// Makes loops even so that they can be written once. Throws Error (failed) if the recorded time of
/// an operator class would change by more than `most`.
[[nodiscard]] Reduced reduce(et_schema::Bench& bench, et_schema::BenchWriting writing, double most);

/// Lines for a person. `bytes`: of the file with loops.
[[nodiscard]] std::string reduced_text(const Reduced& reduced, std::uint64_t bytes);

}  // namespace understudy::cli
