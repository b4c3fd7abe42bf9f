#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nccl_library.h"
#include "replayer/backends/interface/device_communicator.h"

namespace understudy::backends {

/// Identifies a lane, on which calls run in order: a group's collectives, or its messages from one
/// rank to another, or between two ranks (see MessagePath).
struct LaneKey {
  static constexpr int kCollectives = -1;

  GroupId group = 0;
  int source = kCollectives;  ///< rank in the group
  int target = kCollectives;
  bool is_of_both = false;  ///< messages of both directions; `source` is the lower rank
  auto operator<=>(const LaneKey&) const = default;
  [[nodiscard]] bool is_of_messages() const { return source != kCollectives; }
};

/// Returns the lane of a call on rank `group_rank` of its group.
[[nodiscard]] LaneKey lane_of(const Call& call, int group_rank);

/// Formats keys for other ranks: one per line.
[[nodiscard]] std::string to_text(const std::set<LaneKey>& keys);
/// Parses the keys of all ranks. Throws Error (failed) on other text.
[[nodiscard]] std::set<LaneKey> parse_lanes(std::span<const std::string> texts);

/// An NCCL communicator with its stream.
class Lane {
 public:
  /// `rank` and `size` are those within the lane. In a lane of two ranks the key's source is rank 0
  /// and its target rank 1. `name` is for errors: "group 'dp'".
  Lane(const CudaDriver& cuda, const NcclLibrary& nccl, const DeviceOptions& options,
       std::string name, int size, int rank);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane();

  /// Begins to connect to the other ranks of the lane.
  void meet(const NcclId& id) { comm_ = nccl_.begin_comm(id, size_, rank_); }
  /// Begins to make this lane of the ranks of `parent` that pass the same color.
  void split_off(const Lane& parent, int color);
  /// Returns true if the communicator exists and is ready for the next call.
  [[nodiscard]] bool is_ready() const { return comm_ != nullptr && !nccl_.is_in_progress(comm_); }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] NcclComm comm() const { return comm_; }
  [[nodiscard]] CudaStream stream() const { return stream_.get(); }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int rank() const { return rank_; }

  /// Makes calls issued to the lane from now on wait for the current work of `stream`.
  void follow(CudaStream stream);
  /// Returns the reduction for this lane: a factor needs an operator of the lane's communicator.
  [[nodiscard]] NcclReduction own(const NcclReduction& reduction);
  /// Returns device memory that successive calls of the lane share.
  [[nodiscard]] std::byte* scratch(std::size_t bytes);
  /// Registers the buffer with NCCL, unless it is registered.
  void register_buffer(const Buffer& buffer);
  /// Begins to end the communicator.
  void finalize();

  /// Records that a call of this kind was issued, for the watching thread.
  void note(et_schema::CommKind kind);
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] et_schema::CommKind last_kind() const { return last_kind_; }
  /// Releases the communicator to a thread that aborts it; nothing can be issued afterwards.
  /// Returns null if there is none or it was already released.
  [[nodiscard]] NcclComm give_up() { return is_aborted_.exchange(true) ? nullptr : comm_; }

 private:
  const CudaDriver& cuda_;
  const NcclLibrary& nccl_;
  const DeviceOptions& options_;
  std::string name_;
  int size_;
  int rank_;
  CudaDriver::Event ready_;
  CudaDriver::Stream stream_;
  /// Calls use the last block. Earlier blocks are kept: freeing one would wait for the device.
  std::vector<std::shared_ptr<void>> blocks_;
  std::size_t block_bytes_ = 0;
  std::map<std::pair<NcclDType, double>, NcclOp> premultiplied_sums_;
  std::map<std::pair<void*, std::int64_t>, void*> registered_;  ///< by address and bytes
  NcclComm comm_ = nullptr;
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<et_schema::CommKind> last_kind_ = et_schema::CommKind::kBarrier;
  std::atomic<bool> is_aborted_ = false;
};

}  // namespace understudy::backends
