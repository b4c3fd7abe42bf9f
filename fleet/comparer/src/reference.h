#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "noise.h"

namespace understudy::comparer {

/// A row and the estimate from its samples.
struct EstimatedRow {
  PairedRow row;
  std::optional<Estimate> estimate;
};

/// Estimates the change that the speed probe and all classes except `left_out` share: the median of
/// their log ratios, weighted by precision. Empty if there are no such classes, or if they have too
/// few samples.
[[nodiscard]] std::optional<Reference> reference_without(const std::set<std::string>& left_out,
                                                         const std::vector<EstimatedRow>& rows,
                                                         const Setting& setting);

/// Compares the iteration with the cores' clock alone, in the same way. The part that the clock
/// does not explain is assumed to vary like the effects of memory. Empty if a run did not measure
/// the clock.
[[nodiscard]] std::optional<Uncertain> beside_clock(const EstimatedRow& iteration,
                                                    const Setting& setting);

/// Compares the row with the rest by analysis of covariance: the change that neither the cores'
/// clock nor the other classes explain. Empty if its samples do not align with those of the
/// classes, or if some took no time, as for an operator in every second step.
[[nodiscard]] std::optional<Uncertain> beside_rest(const EstimatedRow& row, const Reference& rest,
                                                   const Setting& setting);

}  // namespace understudy::comparer
