#pragma once

#include <string>
#include <vector>

namespace understudy::et_schema {

/// Returns the word of `known` that `word` was probably meant to be: fewest inserted, deleted or
/// changed characters, at most a third of `word`. Empty if none is that near.
[[nodiscard]] std::string nearest_word(const std::string& word,
                                       const std::vector<std::string>& known);

}  // namespace understudy::et_schema
