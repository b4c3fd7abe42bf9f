#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pages/html/page.h"
#include "predictor/platform/fit_sections.h"
#include "predictor/platform/platform.h"

namespace understudy::cli {

/// What is told of a fit beside the platform.
struct FitResult {
  std::map<std::string, std::uint64_t> left_out;  ///< rows, by reason
  std::vector<predictor::SectionModel> sections;
};

/// What was fitted, with the held-out errors of each model; rows that were left out, by reason.
[[nodiscard]] pages::Page fit_page(const predictor::Platform& platform, const FitResult& result,
                                   const std::string& output);

}  // namespace understudy::cli
