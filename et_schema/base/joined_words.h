#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>

namespace understudy::et_schema {

/// Returns the words, and up to eight neighbouring ones as one: "rtx", "4090", "rtx4090".
[[nodiscard]] inline std::set<std::string, std::less<>> joined_words(
    std::span<const std::string> words) {
  constexpr std::size_t kMost = 8;
  std::set<std::string, std::less<>> all;
  for (; !words.empty(); words = words.subspan(1)) {
    std::string run;
    for (const std::string& word : words.first(std::min(words.size(), kMost))) {
      all.insert(run += word);
    }
  }
  return all;
}

}  // namespace understudy::et_schema
