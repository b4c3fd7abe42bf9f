#pragma once

#include <string>
#include <vector>

#include "random.h"

namespace understudy::fuzz {

/// One to four changes of a text: bytes, pieces of itself and of other inputs of the corpus, and
/// what readers of JSON and of tables look at.
[[nodiscard]] inline std::string mutate(std::string input, const std::vector<std::string>& corpus,
                                        Random& random) {
  static const std::vector<std::string> kTokens = {"-1",
                                                   "0",
                                                   "1",
                                                   "2",
                                                   "9223372036854775807",
                                                   "18446744073709551615",
                                                   "1e999",
                                                   "1e-9",
                                                   "-0",
                                                   "[",
                                                   "]",
                                                   "{",
                                                   "}",
                                                   "\"",
                                                   "null",
                                                   ",",
                                                   "true",
                                                   "\\ud800",
                                                   "\"nan\"",
                                                   "\"inf\"",
                                                   "nan",
                                                   ";",
                                                   "float32[0]",
                                                   "aten::mm"};
  const std::size_t changes = 1 + random.below(4);
  for (std::size_t i = 0; i < changes && !input.empty(); ++i) {
    const std::size_t at = random.below(input.size());
    switch (random.below(7)) {
      case 0:
        input[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        input.erase(at, 1 + random.below(16));
        break;
      case 2:
        input.insert(at, 1, "\"\\{}[],:0-9e\n"[random.below(13)]);
        break;
      case 3:
        input.resize(at);
        break;
      case 4: {
        const std::string& other = corpus[random.below(corpus.size())];
        const std::size_t from = random.below(other.size() + 1);
        input.insert(at, other, from, random.below(64));
        break;
      }
      case 5: {
        input.replace(at, random.below(16), kTokens[random.below(kTokens.size())]);
        break;
      }
      default:
        input.insert(at, input.substr(at, 1 + random.below(64)));
        break;
    }
  }
  return input;
}

}  // namespace understudy::fuzz
