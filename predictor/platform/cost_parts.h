#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predictor/overheads/overlap.h"
#include "predictor/platform/platform.h"
#include "predictor/platform/platform_costs.h"

namespace understudy::predictor {

/// Returns the parts that PlatformCosts uses from a platform's sections; without a section a part
/// stays empty.
/// - communication: by `collectives`;
/// - gaps: T1 of the host "python" (recorded gaps belong to RecordedCosts, recorded_costs.h);
/// - host times of operators on a card: T2 to T5 of that host if it knows the operator, else as
///   recorded, else the host's median operator.
/// Throws Error (bad input) if a section is damaged.
[[nodiscard]] CostParts cost_parts(const Platform& platform);

/// Returns the time of a page's first touch, if `calibrate` measured it. Throws Error (bad input)
/// if the section is damaged.
[[nodiscard]] std::optional<double> page_fault_ns(const Platform& platform);

inline constexpr const char* kOverlapSection = "overlap";

/// Reads the text of the section "overlap". Throws Error (bad input) as overlap_from_json() does.
[[nodiscard]] std::vector<DeviceOverlap> read_overlap(const std::string& section,
                                                      const std::string& file);

/// The overlap factors for a device: those of the card of its name, otherwise those of the only
/// known card. Null: unknown. `others` are the names of the known cards. find_overlap() throws
/// Error (bad input) if the section is damaged; errors name the platform's `file`.
struct FoundOverlap {
  std::optional<DeviceOverlap> overlap;
  std::vector<std::string> others;
};
[[nodiscard]] FoundOverlap find_overlap(const Platform& platform, const std::string& file,
                                        const std::string& device);

}  // namespace understudy::predictor
