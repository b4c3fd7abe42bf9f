#pragma once

#include <string>
#include <vector>

#include "comparer/compare.h"
#include "pages/html/page.h"

namespace understudy::pages {

/// What `compare` says of a comparison in words, and its JSON: the page shows the same.
struct ComparisonTexts {
  std::string verdict;
  std::string advice;  ///< what would make it surer; may be empty
  std::string json;    ///< docs/formats.md, "compare --format json"
};

/// Runs B held against runs A: verdict, what differs in the environment, iteration times of both,
/// ratios by class with their intervals, all operators and collectives.
[[nodiscard]] Page comparison_page(const comparer::Comparison& comparison,
                                   const std::vector<comparer::Run>& a,
                                   const std::vector<comparer::Run>& b,
                                   const ComparisonTexts& texts);

}  // namespace understudy::pages
