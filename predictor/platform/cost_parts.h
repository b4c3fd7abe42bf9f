#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predictor/overheads/overlap.h"
#include "predictor/platform/platform.h"
#include "predictor/platform/platform_costs.h"

namespace understudy::predictor {

/// Answers of a platform's sections, for PlatformCosts; what it has no section for stays empty.
/// - communication: by `collectives`;
/// - gaps: T1 of the host "python"; recorded ones are RecordedCosts' (recorded_costs.h);
/// - host times of operators on a card: T2 to T5 of that host where it knows the operator, else as
///   recorded, else what its median operator takes.
/// Throws Error (bad input): a damaged section.
[[nodiscard]] CostParts cost_parts(const Platform& platform);

/// What `calibrate` measured of the first touch of a page, where it measured the machine. Throws
/// Error (bad input): a damaged section.
[[nodiscard]] std::optional<double> page_fault_ns(const Platform& platform);

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
