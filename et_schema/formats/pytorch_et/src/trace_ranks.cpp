#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/file_name.h"
#include "et_schema/formats/pytorch_et/trace_files.h"

namespace understudy::et_schema {
namespace {

/// Larger numbers in names are times, process ids or sizes.
constexpr std::uint64_t kMostRanks = 1'000'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return result;
}

/// A name split into pattern and numbers: "dlrm_eg_3.json" → "dlrm_eg_#.json" and 3.
struct Pattern {
  std::string text;
  std::vector<std::uint64_t> numbers;
};

Pattern take_apart(std::string_view name) {
  Pattern pattern;
  for (std::size_t i = 0; i < name.size();) {
    if (!is_digit(name[i])) {
      pattern.text += name[i++];
      continue;
    }
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + i, name.data() + name.size(), number);
    pattern.numbers.push_back(error == std::errc() ? number : kMostRanks);
    pattern.text += '#';
    i = static_cast<std::size_t>(end - name.data());
  }
  return pattern;
}

/// Returns the number right after "rank" or "worker", if exactly one exists.
std::optional<std::uint64_t> tagged_rank(std::string_view name) {
  const std::string text = lower(name);
  std::optional<std::uint64_t> found;
  for (const std::string_view tag : {std::string_view("rank"), std::string_view("worker")}) {
    for (std::size_t at = text.find(tag); at != std::string::npos; at = text.find(tag, at + 1)) {
      std::size_t digits = at + tag.size();
      while (digits < text.size() &&
             std::string_view("-_.=").find(text[digits]) != std::string::npos) {
        ++digits;
      }
      std::uint64_t number = 0;
      const auto [end, error] =
          std::from_chars(text.data() + digits, text.data() + text.size(), number);
      if (error != std::errc() || number >= kMostRanks) {
        continue;
      }
      if (found && *found != number) {
        return std::nullopt;
      }
      found = number;
    }
  }
  return found;
}

std::optional<std::vector<int>> ranks_by_tag(const std::vector<std::string>& names) {
  std::vector<int> ranks;
  for (const std::string& name : names) {
    const std::optional<std::uint64_t> rank = tagged_rank(file_name(name));
    if (!rank) {
      return std::nullopt;
    }
    ranks.push_back(static_cast<int>(*rank));
  }
  return ranks;
}

/// Returns true if the ranks are 0 … n-1 in any order.
bool is_complete(const std::vector<int>& ranks) {
  const std::set<int> distinct(ranks.begin(), ranks.end());
  return distinct.size() == ranks.size() && *distinct.begin() == 0 &&
         *distinct.rbegin() == static_cast<int>(ranks.size()) - 1;
}

/// Returns the only number that differs between names of the same pattern. If several differ,
/// returns the only one that counts from 0 to n-1.
std::optional<std::vector<int>> ranks_by_pattern(const std::vector<Pattern>& patterns) {
  const Pattern& first = patterns.front();
  for (const Pattern& pattern : patterns) {
    if (pattern.text != first.text) {
      return std::nullopt;
    }
  }
  std::vector<std::vector<int>> candidates;
  for (std::size_t column = 0; column < first.numbers.size(); ++column) {
    std::vector<int> ranks;
    bool differs = false;
    bool fits = true;
    for (const Pattern& pattern : patterns) {
      fits = fits && pattern.numbers[column] < kMostRanks;
      differs = differs || pattern.numbers[column] != first.numbers[column];
      ranks.push_back(fits ? static_cast<int>(pattern.numbers[column]) : 0);
    }
    if (fits && differs &&
        std::find(candidates.begin(), candidates.end(), ranks) == candidates.end()) {
      candidates.push_back(std::move(ranks));
    }
  }
  if (candidates.size() == 1) {
    return candidates.front();
  }
  std::optional<std::vector<int>> complete;
  for (std::vector<int>& ranks : candidates) {
    if (is_complete(ranks)) {
      if (complete) {
        return std::nullopt;
      }
      complete = std::move(ranks);
    }
  }
  return complete;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMostShown = 16;
  const std::span<const std::string> all(names);
  const std::string text =
      fmt::format("{}", fmt::join(all.first(std::min(all.size(), kMostShown)), ", "));
  return all.size() <= kMostShown ? text
                                  : fmt::format("{} and {} more", text, all.size() - kMostShown);
}

}  // namespace

std::vector<int> ranks_from_names(const std::vector<std::string>& names) {
  if (names.empty()) {
    return {};
  }
  if (std::optional<std::vector<int>> ranks = ranks_by_tag(names)) {
    return *ranks;
  }
  if (names.size() == 1) {
    return {0};
  }
  for (const bool with_folders : {false, true}) {  // if file names are equal, folders differ
    std::vector<Pattern> patterns;
    for (const std::string_view name : names) {
      patterns.push_back(take_apart(with_folders ? name : file_name(name)));
    }
    if (std::optional<std::vector<int>> ranks = ranks_by_pattern(patterns)) {
      return *ranks;
    }
  }
  throw bad_input("the ranks cannot be told from the file names",
                  {.field = "file names",
                   .expected = "one number that differs, as in rank-0.json, rank-1.json",
                   .got = list_of(names),
                   .hint = "rename the files of one job to rank-N.json; what is not of one job is "
                           "given by itself"});
}

}  // namespace understudy::et_schema
