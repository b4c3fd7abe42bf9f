#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/progress.h"
#include "et_schema/pytorch_et/trace_files.h"
#include "generator/link/link.h"

namespace understudy::cli {

/// Which profiles give a benchmark its times.
struct ProfileChoice {
  std::vector<std::string> files;  ///< --profile
  bool none = false;               ///< --no-profile
};

/// Links the traces with the profiles that were asked for; else with the times that all of them
/// hold themselves (Chakra), or with the profiles of the capture that the traces lie in: times from
/// the profile without the trace's observer, where it joins, and parents repaired from that of the
/// same step. Nothing where there is neither, or with --no-profile.
[[nodiscard]] std::vector<generator::Link> link_profiles(const std::vector<std::string>& paths,
                                                         et_schema::TraceSet& set,
                                                         const ProfileChoice& choice,
                                                         const std::optional<std::string>& step,
                                                         Progress& progress);

}  // namespace understudy::cli
