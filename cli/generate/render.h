#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/bench/bench.h"
#include "generate/chakra.h"
#include "generate/kernels.h"
#include "generate/obfuscate.h"
#include "generator/resize/batch.h"
#include "generator/resize/blur_shapes.h"

namespace understudy::cli {

/// What generate made of its input.
struct Generated {
  const et_schema::Bench& bench;
  const std::vector<std::string>& unlinked;  ///< profiles of the input that gave no times
  std::string path = {};                     ///< of the benchmark; empty: none was written
  std::uint64_t bytes = 0;                   ///< of that file
  std::optional<WrittenChakra> chakra = {};
  std::optional<Hidden> hidden = {};
  /// With another batch size.
  struct Batched {
    generator::BatchSize size;
    generator::BatchedBench bench;
  };
  std::optional<Batched> batched = {};             ///< its benchmark moved out of it
  std::optional<generator::Blurred> blurred = {};  ///< its benchmark moved out of it
  std::optional<KernelsMade> kernels = {};
  std::size_t removed_kernels = 0;  ///< whose machine code does not fit changed sizes
  std::string reduced = {};         ///< lines of what --reduce did
  std::string signed_by = {};       ///< a public key; empty: nobody
};

/// What was selected, opened and why, where recorded times come from, and what was lost; then what
/// the Chakra traces hold and lack.
[[nodiscard]] std::string generated_text(const Generated& made);
/// The same for programs, on one line: {"bench":…,"bytes":…,"world_size":…,"ranks":[…]}, with
/// "chakra" where such traces were written; "bench" is null where no benchmark was.
[[nodiscard]] std::string generated_json(const Generated& made);
/// All figures of the JSON as one long table.
[[nodiscard]] std::string generated_csv(const Generated& made);

}  // namespace understudy::cli
