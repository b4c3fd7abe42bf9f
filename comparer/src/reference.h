#pragma once

#include <optional>
#include <string>
#include <vector>

#include "noise.h"

namespace understudy::comparer {

/// A row with what its samples say.
struct EstimatedRow {
  PairedRow row;
  std::optional<Estimate> estimate;
};

/// What all classes but `left_out` have in common: the median of their log ratios, weighted by
/// precision. Absent where there are none, or where their samples are too few.
[[nodiscard]] std::optional<Reference> reference_without(const std::string& left_out,
                                                         const std::vector<EstimatedRow>& rows,
                                                         const Setting& setting);

/// How a row answers to the rest, from one iteration to the next: regression within the runs, drawn
/// towards 1 where that tells little.
[[nodiscard]] Answer answer_of(const PairedRow& row, const Reference& rest);

}  // namespace understudy::comparer
