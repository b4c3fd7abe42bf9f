#pragma once

#include <string>
#include <vector>

#include "fleet/comparer/run.h"

namespace understudy::comparer {

/// How much a difference of the environment matters for times.
enum class Weight : std::uint8_t {
  kOther,     ///< another device, machine, number of threads or pace: all times may differ
  kVersion,   ///< another version of a component: the usual object of a comparison
  kIncident,  ///< number of iterations, host name: should not matter
};

/// The field of operators that were stubbed or dropped.
inline constexpr const char* kNotReplayed = "not_replayed";

struct EnvironmentDifference {
  std::string field;  ///< "threads", "versions.torch", "settings.seed"
  std::string a;      ///< all values of the runs, separated by ", "; "–" if missing
  std::string b;
  Weight weight = Weight::kIncident;
  bool operator==(const EnvironmentDifference&) const = default;
};

/// Returns the fields in which any two runs differ, the most important first. Ignores the date, and
/// the environments of profiles, which record none.
[[nodiscard]] std::vector<EnvironmentDifference> environment_differences(const std::vector<Run>& a,
                                                                         const std::vector<Run>& b);

/// Throws Error (usage) unless all runs are of one benchmark: the same content, ranks and filters.
/// Profiles match any benchmark.
void refuse_different_benchmarks(const std::vector<Run>& a, const std::vector<Run>& b);

}  // namespace understudy::comparer
