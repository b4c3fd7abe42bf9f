#pragma once

#include <optional>
#include <string>

#include "predictor/platform/platform_costs.h"

namespace understudy::predictor {

/// Answers of a platform's sections, for PlatformCosts; what it has no section for stays empty.
/// - communication: by `collectives`;
/// - gaps: T1 of `host` ("python", "c++"); recorded ones are RecordedCosts' (recorded_costs.h);
/// - host times of operators on a card: T2 to T5 of `host` where it knows the operator, else as
///   recorded, else what `host`'s median operator takes.
/// Throws Error (bad input): a damaged section.
[[nodiscard]] CostParts cost_parts(const Platform& platform, const std::string& host = "python");

/// What `calibrate` measured of the first touch of a page, where it measured the machine. Throws
/// Error (bad input): a damaged section.
[[nodiscard]] std::optional<double> page_fault_ns(const Platform& platform);

}  // namespace understudy::predictor
