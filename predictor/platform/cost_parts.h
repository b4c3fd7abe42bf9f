#pragma once

#include <optional>
#include <string>

#include "predictor/collectives/models.h"
#include "predictor/platform/platform.h"
#include "predictor/platform/platform_costs.h"

namespace understudy::predictor {

/// Returns the parts that PlatformCosts uses from a platform's sections; without a section a part
/// stays empty.
/// - communication on `device`, a card ("": unknown), by `collectives`;
/// - gaps: by `overheads` (recorded gaps belong to RecordedCosts, recorded_costs.h);
/// - host times of operators on a card: by `overheads` if it knows the operator, else as recorded,
///   else the median call.
/// Throws Error (bad input) if a section is damaged.
[[nodiscard]] CostParts cost_parts(const Platform& platform, const std::string& device = {});

/// Returns the models of the section `collectives`, empty without it. Throws Error (bad input) if
/// the section is damaged.
[[nodiscard]] CollectiveModels collectives_of(const Platform& platform);

/// Returns the time of a page's first touch, if `calibrate` measured it. Throws Error (bad input)
/// if the section is damaged.
[[nodiscard]] std::optional<double> page_fault_ns(const Platform& platform);

}  // namespace understudy::predictor
