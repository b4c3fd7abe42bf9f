#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "program_differences.h"

namespace understudy::et_schema {

inline constexpr const char* kManifestName = "manifest.json";

/// manifest.json: everything in a benchmark except the instructions.
struct Manifest {
  struct Rank {
    std::string program;  ///< member with the instructions
    ProgramDifferences differences;
    Selection selection;
    Losses losses;
    std::optional<RecordedProfile> profile;
    std::string timings;          ///< member with the timings, if the rank has a profile
    std::vector<Origin> origins;  ///< set in composed programs
    bool operator==(const Rank&) const = default;
  };
  Bench bench;  ///< without the data of `ranks` and of other members
  std::vector<Rank> ranks;
};

/// Returns readable JSON: one source, group or rank per line.
[[nodiscard]] std::string manifest_to_json(const Manifest& manifest);

/// Throws Error (bad input) if the text is not a benchmark's manifest, has another version, or a
/// field is missing or out of range. `file` names the benchmark in errors.
[[nodiscard]] Manifest parse_manifest(std::string_view json, const std::string& file);

}  // namespace understudy::et_schema
