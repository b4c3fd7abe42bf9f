#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/pages/document/page.h"
#include "cli/pages/fleet/fleet_pages.h"
#include "cli/pages/prediction/prediction_page.h"
#include "fleet/comparer/compare.h"

namespace understudy::pages {

/// What a page's file holds: its two blocks of JSON, and all around them.
struct HtmlParts {
  std::string around;
  std::string page;
  std::string data;
};
[[nodiscard]] HtmlParts parts_of(const std::string& html);

/// Hands out the texts of a page: one that is told, or whatever a test wants in its place.
struct Words {
  std::string hostile = {};  ///< empty: each its own
  [[nodiscard]] std::string of(const std::string& word) const {
    return hostile.empty() ? word : hostile;
  }
};

/// Every kind of page, from made-up figures with something in every field. Named as the files of a
/// site.
struct NamedPage {
  std::string file;
  Page page;
};
[[nodiscard]] std::vector<NamedPage> sample_pages(const Words& words = {});

/// A report of so many operators, and a timeline of so many events in it.
[[nodiscard]] Page large_page(std::size_t operators);

[[nodiscard]] nlohmann::ordered_json sample_fleet(const Words& words, std::size_t jobs);
[[nodiscard]] nlohmann::ordered_json sample_benchmark(const Words& words);
[[nodiscard]] fleet::PlatformComparison sample_platforms(const Words& words);
[[nodiscard]] et_schema::Prediction sample_prediction(const Words& words);

}  // namespace understudy::pages
