#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace understudy::et_schema {

/// Tone of an assessment's sentence.
enum class Tone : std::uint8_t {
  kGood,       ///< no problem
  kAttention,  ///< see the findings
  kBad,        ///< slower, failed, incomplete
  kNeutral     ///< no judgement
};

/// What a result says, in words. The library that judges the result writes it; pages only show it.
struct Assessment {
  Tone tone = Tone::kNeutral;
  std::string sentence = {};
  std::vector<std::string> findings = {};  ///< sentences: problems, and what the reader should know
};

}  // namespace understudy::et_schema
