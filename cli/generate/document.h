#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "change.h"
#include "cli/pages/document/page.h"
#include "et_schema/formats/bench/bench.h"
#include "outputs.h"

namespace understudy::cli {

/// What generate made of its input.
struct Generated {
  const et_schema::Bench& bench;
  const std::vector<std::string>& unlinked;  ///< profiles of the input that gave no times
  std::string path = {};                     ///< of the benchmark; empty: none was written
  std::uint64_t bytes = 0;                   ///< of that file
  std::optional<WrittenChakra> chakra = {};
  std::optional<KernelsMade> kernels = {};
  Changes changes = {};
};

/// What was selected, opened and why, where recorded times come from, and what was lost; what made
/// it another benchmark; what the Chakra traces hold and lack. Its JSON: docs/formats.md, "generate
/// --format json".
[[nodiscard]] pages::Page generated_page(const Generated& made);

}  // namespace understudy::cli
