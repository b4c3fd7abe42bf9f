#include "cli/pages/document/timeline.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace understudy::pages {
namespace {

/// Number of colours; further kinds share the last one.
constexpr std::size_t kColours = 10;

}  // namespace

std::vector<std::string> longest_kinds(const std::map<std::string, double>& times,
                                       const char* others) {
  std::vector<std::pair<std::string, double>> order(times.begin(), times.end());
  std::ranges::stable_sort(order, std::greater(), [](const auto& row) { return row.second; });
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < std::min(order.size(), kColours - 1); ++i) {
    kinds.push_back(order[i].first);
  }
  if (order.size() > kinds.size()) {
    kinds.emplace_back(others);
  }
  return kinds;
}

std::size_t kind_number(const std::vector<std::string>& kinds, const std::string& kind) {
  const auto place = std::ranges::find(kinds, kind) - kinds.begin();
  return std::min(static_cast<std::size_t>(place), kinds.size() - 1);
}

std::size_t TextNumbers::number_of(const std::string& text) {
  const auto [found, is_new] = numbers_.try_emplace(text, texts_.size());
  if (is_new) {
    texts_.push_back(text);
  }
  return found->second;
}

}  // namespace understudy::pages
