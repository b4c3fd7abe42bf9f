#pragma once

#include <string>
#include <vector>

#include "fleet/comparer/run.h"

namespace understudy::comparer {

/// How much a difference in the environment says about times.
enum class Weight : std::uint8_t {
  kOther,     ///< another device, machine, number of threads or pace: nothing need be alike
  kVersion,   ///< another version of something: what one compares for
  kIncident,  ///< number of iterations, host's name: should not matter
};

struct EnvironmentDifference {
  std::string field;  ///< "threads", "versions.torch", "settings.seed"
  std::string a;      ///< of several runs all values, ", " between them; "–" where there is none
  std::string b;
  Weight weight = Weight::kIncident;
};

/// Fields in which any two runs differ, the weightiest first. The date is left out, and so are the
/// environments of profiles, which do not tell.
[[nodiscard]] std::vector<EnvironmentDifference> environment_differences(const std::vector<Run>& a,
                                                                         const std::vector<Run>& b);

/// Throws Error (usage) unless all runs are of one benchmark: the same content, ranks, and filters.
/// Profiles are not of a benchmark and fit any.
void refuse_different_benchmarks(const std::vector<Run>& a, const std::vector<Run>& b);

}  // namespace understudy::comparer
