#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "et_schema/formats/kineto/device_timeline.h"
#include "et_schema/model/comms.h"
#include "et_schema/model/dtype.h"
#include "predictor/collectives/rows.h"

namespace understudy::predictor {

/// The collectives of a job on GPUs, from the Kineto profiles of its ranks, whose kernels say what
/// they communicate ("Collective name" and its neighbours, PyTorch 2.2 and later).
class ProfiledCalls {
 public:
  /// Several profiles of a rank follow each other in time.
  void add(const et_schema::Profile& profile);

  /// A row for each kind, size and group. The calls of a group's ranks are paired in their order;
  /// a pair took as long as on the rank that came last and waited for nobody: the shortest of
  /// their times. What cannot be paired is left out, by reason.
  [[nodiscard]] ReadCollectives rows(int ranks_per_node = et_schema::kUsualRanksPerNode) const;

 private:
  struct Call {
    CommKind kind = CommKind::kAllReduce;
    DType dtype = DType::kFloat32;
    std::int64_t bytes = 0;
    std::int64_t start_ns = 0;
    double duration_ns = 0;
  };
  struct Group {
    std::size_t ranks = 0;                            ///< that it has
    std::string file;                                 ///< of one of them
    std::map<std::int64_t, std::vector<Call>> calls;  ///< by rank, as far as profiles are there
  };
  void add(const et_schema::Profile& profile, const et_schema::KinetoComm& comm,
           const et_schema::DeviceEvent& event);
  static void pair(const Group& group, int ranks_per_node, RepetitionsNs& times_ns,
                   ReadCollectives& read);

  std::map<std::string, Group> groups_;  ///< by name and ranks
  std::map<std::string, std::uint64_t> left_out_;
};

}  // namespace understudy::predictor
