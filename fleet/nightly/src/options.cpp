#include "fleet/nightly/options.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace understudy::fleet {
namespace {

enum class Takes : std::uint8_t { kNothing, kOne, kSeveral };

struct Flag {
  std::string_view name;
  Takes takes;
};

constexpr std::array kAllowed = {Flag{"--allow-missing", Takes::kNothing},
                                 Flag{"--batch", Takes::kOne},
                                 Flag{"--exclude", Takes::kOne},
                                 Flag{"--indices", Takes::kOne},
                                 Flag{"--no-backward", Takes::kNothing},
                                 Flag{"--obfuscate", Takes::kNothing},
                                 Flag{"--only", Takes::kOne},
                                 Flag{"--profile", Takes::kSeveral},
                                 Flag{"--step", Takes::kOne},
                                 Flag{"--subgraph", Takes::kSeveral}};

}  // namespace

std::string refused_generate_flag(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size();) {
    const std::size_t equals = words[i].find('=');
    const std::string_view name = std::string_view(words[i]).substr(0, equals);
    const auto* const flag = std::ranges::find(kAllowed, name, &Flag::name);
    if (flag == kAllowed.end()) {
      return words[i];
    }
    ++i;
    if (equals == std::string::npos && flag->takes == Takes::kOne) {
      ++i;
    }
    while (flag->takes == Takes::kSeveral && i < words.size() && !words[i].starts_with('-')) {
      ++i;
    }
  }
  return "";
}

std::string allowed_generate_flags() {
  std::string list;
  for (const Flag& flag : kAllowed) {
    list += (list.empty() ? "" : ", ") + std::string(flag.name);
  }
  return list;
}

}  // namespace understudy::fleet
