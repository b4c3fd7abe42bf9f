#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "noise.h"

namespace understudy::comparer {

/// A row with what its samples say.
struct EstimatedRow {
  PairedRow row;
  std::optional<Estimate> estimate;
};

/// What all classes but those `left_out`, and the speed_probe, have in common: the median of their
/// log ratios, weighted by precision. Absent where there are none, or where their samples are too
/// few.
[[nodiscard]] std::optional<Reference> reference_without(const std::set<std::string>& left_out,
                                                         const std::vector<EstimatedRow>& rows,
                                                         const Setting& setting);

/// The iteration beside the cores' clock alone, in the same way: what the clock does not explain is
/// taken to wander as much as what memory does. Absent where a run has not measured the clock.
[[nodiscard]] std::optional<Uncertain> beside_clock(const EstimatedRow& iteration,
                                                    const Setting& setting);

/// The row beside the rest, by analysis of covariance: what it did that neither the cores' clock
/// nor the other classes explain. Absent where it has other samples than they, or some that took no
/// time, as an operator of every second step.
[[nodiscard]] std::optional<Uncertain> beside_rest(const EstimatedRow& row, const Reference& rest,
                                                   const Setting& setting);

}  // namespace understudy::comparer
