#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "et_schema/formats/kineto/device_timeline.h"
#include "et_schema/model/comms.h"
#include "predictor/collectives/rows.h"

namespace understudy::predictor {

/// The collectives of a GPU job, from its ranks' Kineto profiles. Their kernels must describe the
/// communication ("Collective name" and related fields, PyTorch 2.2 and later).
class ProfiledCalls {
 public:
  /// Adds a profile. Several profiles of one rank must be added in the order of time.
  void add(const et_schema::Profile& profile);

  /// Returns a row for each kind, size and group. The n-th calls of a group's ranks are one call;
  /// its time is the shortest of all ranks, because the rank that joins last does not wait. Calls
  /// without a counterpart are counted in `left_out`, by reason.
  [[nodiscard]] ReadCollectives rows(int ranks_per_node = et_schema::kUsualRanksPerNode) const;

 private:
  /// A rank's part in a call. `nodes` is known only with the other ranks.
  struct Call : CollectiveCall {
    std::int64_t start_ns = 0;
    double duration_ns = 0;
  };
  struct Group {
    std::string file;                                 ///< one of the group's files
    std::string device;                               ///< that file's card
    std::map<std::int64_t, std::vector<Call>> calls;  ///< by rank, for ranks with profiles
  };
  void add(const et_schema::Profile& profile, const et_schema::KinetoComm& comm,
           const et_schema::DeviceEvent& event);
  static void pair(const Group& group, int ranks_per_node, RepetitionsNs& times_ns,
                   ReadCollectives& read);

  std::map<std::string, Group> groups_;  ///< by name and ranks
  std::map<std::string, std::uint64_t> left_out_;
};

}  // namespace understudy::predictor
