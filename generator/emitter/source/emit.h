#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"

namespace understudy::emitter {

/// What a project is written in.
enum class Language : std::uint8_t { kCpp, kPython };

/// Instructions of one name that the source cannot show, or cannot run alone.
struct Missing {
  std::string name;
  std::string reason;
  std::uint64_t count = 0;
  std::optional<double> time_share;  ///< of the recorded time, over all ranks; none: no times
};

/// What became of a benchmark.
struct Project {
  std::map<std::string, std::string> files;  ///< path in the project → content
  std::vector<Missing> missing;              ///< in order of names
  std::vector<Missing> mapped;   ///< done by functions of the operator map; `reason`: which
  std::vector<Missing> foreign;  ///< called, but neither LibTorch nor the project has them
  std::uint64_t operators = 0;   ///< over all ranks, those that are missing included
  std::uint64_t functions = 0;
  std::uint64_t calls = 0;  ///< of these functions
};

/// A project of its own that replays the benchmark as `replay --pace asap` does: with tensors of
/// the same content, the same operators in the same order, their memory freed at the same places.
/// `name` is what it calls itself.
[[nodiscard]] Project emit_project(const et_schema::Bench& bench, Language language,
                                   const std::string& name);

}  // namespace understudy::emitter
