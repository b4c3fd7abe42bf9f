#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "program_differences.h"

namespace understudy::et_schema {

inline constexpr const char* kManifestName = "manifest.json";

/// manifest.json: all of a benchmark but the instructions.
struct Manifest {
  struct Rank {
    std::string program;  ///< name of the member that holds its instructions
    ProgramDifferences differences;
    Selection selection;
    Losses losses;
    std::optional<RecordedProfile> profile;
    std::string timings;          ///< name of the member that holds them, where there is a profile
    std::vector<Origin> origins;  ///< of a composed program
    bool operator==(const Rank&) const = default;
  };
  Bench bench;  ///< without what the ranks and other members hold
  std::vector<Rank> ranks;
};

/// One source, group and rank a line, so that a person can read it.
[[nodiscard]] std::string manifest_to_json(const Manifest& manifest);

/// Throws Error (bad input): no benchmark's manifest, another version, a field that is missing or
/// out of range. `file` names the benchmark.
[[nodiscard]] Manifest parse_manifest(std::string_view json, const std::string& file);

}  // namespace understudy::et_schema
