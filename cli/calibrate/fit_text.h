#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "predictor/platform/fit_sections.h"
#include "predictor/platform/platform.h"

namespace understudy::cli {

/// What is told of a fit beside the platform.
struct FitResult {
  std::map<std::string, std::uint64_t> left_out;  ///< rows, by reason
  std::vector<predictor::SectionModel> sections;
};

/// What was fitted: a line a model with its held-out errors; rows that were left out, by reason.
[[nodiscard]] std::string fit_text(const predictor::Platform& platform, const FitResult& result,
                                   const std::string& output);
[[nodiscard]] std::string fit_json(const predictor::Platform& platform, const FitResult& result);
[[nodiscard]] std::string fit_csv(const predictor::Platform& platform);

}  // namespace understudy::cli
