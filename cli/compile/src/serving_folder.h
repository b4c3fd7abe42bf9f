#pragma once

#include <optional>
#include <string>
#include <vector>

namespace understudy::cli {

/// A serving engine's profiles, one a rank in both lists: of the pass that captured its graphs, and
/// of a run that launches them.
struct ServingProfiles {
  std::vector<std::string> captures = {};
  std::vector<std::string> runs = {};
};

/// Returns the profiles of a folder in which SGLang or vLLM wrote captures; nothing for another
/// folder. Of SGLang's captures, one for each batch size, selects that of the size `step`, and
/// unsets `step`. Throws Error (usage) if that leaves several, or if a rank has no run.
[[nodiscard]] std::optional<ServingProfiles> find_serving_profiles(
    const std::string& folder, std::optional<std::string>& step);

}  // namespace understudy::cli
