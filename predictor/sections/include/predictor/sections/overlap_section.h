#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predictor/overlap/overlap.h"
#include "predictor/platform/platform.h"

namespace understudy::predictor {

inline constexpr const char* kOverlapSection = "overlap";

/// Reads the text of that section of a file. Throws Error (bad input) as overlap_from_json() does.
[[nodiscard]] std::vector<DeviceOverlap> read_overlap(const std::string& section,
                                                      const std::string& file);

/// What a platform knows of a device's overlap: that of its name; else, where profiles of one kind
/// of card alone were read, theirs. Null: nothing. `file` names the platform's in errors. `others`
/// are the names of those that are known. Throws Error (bad input): a damaged section.
struct FoundOverlap {
  std::optional<DeviceOverlap> overlap;
  std::vector<std::string> others;
};
[[nodiscard]] FoundOverlap find_overlap(const Platform& platform, const std::string& file,
                                        const std::string& device);

}  // namespace understudy::predictor
