#pragma once

#include <vector>

#include "et_schema/model/report.h"

namespace understudy::et_schema {

/// Rows of one collective, group and size over all ranks; uneven ones of a group are one row, of
/// the largest size. What a call took is told apart into waiting and moving bytes where all ranks
/// of the group have it.
[[nodiscard]] std::vector<CollectiveTime> merge_collectives(const std::vector<RankReport>& ranks);

}  // namespace understudy::et_schema
