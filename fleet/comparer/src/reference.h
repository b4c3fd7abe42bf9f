#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "noise.h"

namespace understudy::comparer {

/// A row and what its samples say.
struct EstimatedRow {
  PairedRow row;
  std::optional<Estimate> estimate;
};

/// What the speed_probe and all classes except `left_out` have in common: the median of their log
/// ratios, weighted by precision. Absent where there are no such classes, or where they have too
/// few samples.
[[nodiscard]] std::optional<Reference> reference_without(const std::set<std::string>& left_out,
                                                         const std::vector<EstimatedRow>& rows,
                                                         const Setting& setting);

/// Compares the iteration with the cores' clock alone, in the same way. What the clock does not
/// explain is assumed to vary as much as what memory does. Absent if a run has not measured the
/// clock.
[[nodiscard]] std::optional<Uncertain> beside_clock(const EstimatedRow& iteration,
                                                    const Setting& setting);

/// Compares the row with the rest, by analysis of covariance: the change that neither the cores'
/// clock nor the other classes explain. Absent if its samples are not those of the other classes,
/// or if some took no time, as for an operator of every second step.
[[nodiscard]] std::optional<Uncertain> beside_rest(const EstimatedRow& row, const Reference& rest,
                                                   const Setting& setting);

}  // namespace understudy::comparer
