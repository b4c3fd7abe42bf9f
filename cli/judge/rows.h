#pragma once

#include <string>
#include <vector>

#include "fleet/analysis/platforms.h"
#include "fleet/analysis/selection.h"
#include "fleet/fingerprint/fingerprint.h"

namespace understudy::cli {

/// A benchmark of the fleet, and what it stands for.
struct BenchmarkRow : fleet::PlatformRow {
  fleet::Fingerprint fingerprint;
};

void members(auto& json, et_schema::SameAs<BenchmarkRow> auto& row) {
  fleet::row_members(json, row);
  json("fingerprint", row.fingerprint);
}

/// Returns the rows as input for `fleet select`. `time_on`: the platform that provides the times by
/// class, without which a row is left out; empty: the recorded times.
[[nodiscard]] std::vector<fleet::Candidate> candidates(const std::vector<BenchmarkRow>& rows,
                                                       const std::string& time_on);

/// Returns small subsets that represent all jobs, in several sizes. Omits sizes that are not
/// smaller than the fleet.
[[nodiscard]] std::vector<fleet::Selection> usual_subsets(const std::vector<BenchmarkRow>& rows);

}  // namespace understudy::cli
