#pragma once

#include <string>
#include <vector>

namespace understudy::cli {

/// The one of `known` that was probably meant by `word`: fewest characters to insert, delete or
/// change, and no more than a third of it. Empty if none is near.
[[nodiscard]] std::string nearest_word(const std::string& word,
                                       const std::vector<std::string>& known);

}  // namespace understudy::cli
