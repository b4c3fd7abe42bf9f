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

/// Result of `generate`.
struct Generated {
  const et_schema::Bench& bench;
  const std::vector<std::string>& unlinked;  ///< profiles of the input that provided no times
  std::string path = {};                     ///< path of the benchmark; empty: not written
  std::uint64_t bytes = 0;                   ///< size of that file
  std::optional<WrittenChakra> chakra = {};
  std::optional<KernelsMade> kernels = {};
  Changes changes = {};
};

/// Shows what was selected, what was decomposed and why, the origin of recorded times, losses,
/// changes to the benchmark, and what the Chakra traces hold and lack. Its JSON: docs/formats.md,
/// "generate --format json".
[[nodiscard]] pages::Page generated_page(const Generated& made);

}  // namespace understudy::cli
