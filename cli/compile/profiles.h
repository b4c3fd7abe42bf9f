#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/progress.h"
#include "et_schema/kineto/kineto.h"
#include "et_schema/pytorch_et/trace_files.h"
#include "generator/link/link.h"

namespace understudy::cli {

/// Which profiles give a benchmark its times.
struct ProfileChoice {
  std::vector<std::string> files;  ///< --profile
  bool none = false;               ///< --no-profile
  /// --graph-profile: of the same steps launched as graphs, for their device times.
  std::vector<std::string> graph_runs = {};
};

/// The traces of a job: those that were recorded or, where there are none, made of its profiles, as
/// far as they show `step` (generator/profile/trace_of_profile.h).
struct JobTraces {
  et_schema::TraceSet set;
  /// Of traces that were made of them, in their order; otherwise empty.
  std::vector<et_schema::Profile> made_of;
};
[[nodiscard]] JobTraces read_job(const std::vector<std::string>& paths, const std::string& step,
                                 et_schema::RankGaps gaps = et_schema::RankGaps::kRefused);

/// Links the traces with the profiles that they were made of, or with those that were asked for;
/// else with the times that all of them
/// hold themselves (Chakra), or with the profiles of the capture that the traces lie in: times from
/// the profile without the trace's observer, where it joins, and parents repaired from that of the
/// same step. Nothing where there is neither, or with --no-profile.
[[nodiscard]] std::vector<generator::Link> link_profiles(const std::vector<std::string>& paths,
                                                         JobTraces& job,
                                                         const ProfileChoice& choice,
                                                         const std::optional<std::string>& step,
                                                         Progress& progress);

}  // namespace understudy::cli
