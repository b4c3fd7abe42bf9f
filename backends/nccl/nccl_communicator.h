#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/check_call.h"
#include "backends/device_communicator.h"
#include "lane.h"
#include "watch_lanes.h"

namespace understudy::backends {

/// NCCL beside a backend that the ranks meet by: a communicator and a stream for the collectives
/// and batches of each group, and for the single messages of each pair of ranks, or of each
/// direction.
class NcclCommunicator : public DeviceCommunicator {
 public:
  NcclCommunicator(Backend& host, const DeviceOptions& options);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  ~NcclCommunicator() override;

  [[nodiscard]] std::string name() const override { return "nccl"; }
  [[nodiscard]] std::string version() const override { return nccl_.version(); }
  void set_time_limit(double seconds) override { watch_.set_time_limit(seconds); }

  /// In the device's memory: messages to others without a tag, which NCCL does not know, and all
  /// but the reductions that it lacks.
  [[nodiscard]] bool takes(const Call& call) const override;
  void prepare(std::span<const Call> calls) override;
  [[nodiscard]] GroupId make_group(const std::string& name, std::span<const int> ranks) override;
  [[nodiscard]] std::unique_ptr<Work> start(const Call& call) override;
  [[nodiscard]] std::vector<std::unique_ptr<Work>> start_batch(
      std::span<const Call* const> calls) override;
  Ended wait(std::unique_ptr<Work> work) override;
  void run(const Call& call) override;
  void interrupt() override;

 private:
  void finish() noexcept;
  /// Many at a time.
  void open_lanes(const std::set<LaneKey>& keys);
  /// Of groups, from the communicator of all ranks.
  void split_lanes(std::set<LaneKey> keys);
  /// The ids of these lanes, which the first rank of each makes.
  [[nodiscard]] std::map<LaneKey, NcclId> exchange_ids(const std::set<LaneKey>& keys);
  /// Null: this rank has no part in it.
  [[nodiscard]] Lane* make_lane(const LaneKey& key);
  [[nodiscard]] const CallPlace& place_of(const Call& call) const;
  [[nodiscard]] Lane& lane_for(const Call& call);
  [[nodiscard]] CudaEvent take_event();
  void register_buffers(Lane& lane, const Call& call) const;

  Backend& host_;
  CudaDriver cuda_;
  NcclLibrary nccl_;
  CudaContext context_;
  [[nodiscard]] CudaStream stream() const {
    return options_.stream ? static_cast<CudaStream>(options_.stream()) : nullptr;
  }

  DeviceOptions options_;
  int exceptions_at_start_;
  std::map<GroupId, CallPlace> places_;
  std::map<GroupId, std::vector<int>> ranks_;  ///< world ranks in group order
  std::set<LaneKey> known_;                    ///< of all ranks
  std::vector<CudaDriver::Event> events_;
  std::vector<CudaEvent> free_events_;
  std::map<LaneKey, std::unique_ptr<Lane>> lanes_;  // behind the events that their streams record
  LaneWatch watch_;                                 // behind the lanes: it ends first
};

}  // namespace understudy::backends
