#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "et_schema/model/memory_plan.h"
#include "pages/html/page.h"

namespace understudy::cli {

/// One rank's program with its plan.
struct RankMemory {
  std::size_t rank = 0;
  const et_schema::Program* program = nullptr;
  et_schema::MemoryPlan plan;
};

/// Live tensors over the step as a page: a curve a rank, and the largest tensors at its peak.
/// `json`: what `inspect --memory --format json` prints, the page's data.
[[nodiscard]] pages::Page memory_page(const std::vector<RankMemory>& ranks,
                                      const std::string& json);

}  // namespace understudy::cli
