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

/// What calls run on, one behind the other: the collectives of a group, or its messages from one
/// rank to another, or between two: see MessagePath.
struct LaneKey {
  static constexpr int kCollectives = -1;

  GroupId group = 0;
  int source = kCollectives;  ///< rank in the group
  int target = kCollectives;
  bool is_of_both = false;  ///< `source` and `target` are two ranks, the lower one first
  auto operator<=>(const LaneKey&) const = default;
  [[nodiscard]] bool is_of_messages() const { return source != kCollectives; }
};

/// The lane that a call needs, on the rank `group_rank` of its group.
[[nodiscard]] LaneKey lane_of(const Call& call, int group_rank);

/// Ranks tell each other keys in this form: a line each.
[[nodiscard]] std::string to_text(const std::set<LaneKey>& keys);
/// The reverse of what all ranks sent. Throws Error (failed) on other text.
[[nodiscard]] std::set<LaneKey> parse_lanes(std::span<const std::string> texts);

/// A communicator of NCCL with its stream.
class Lane {
 public:
  /// `rank` and `size` are of the lane: of two ranks the key's source is 0, its target 1. `name` is
  /// for errors: "group 'dp'".
  Lane(const CudaDriver& cuda, const NcclLibrary& nccl, const DeviceOptions& options,
       std::string name, int size, int rank);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane();

  /// Begins to meet the other ranks of it.
  void meet(const NcclId& id) { comm_ = nccl_.begin_comm(id, size_, rank_); }
  /// The same among the ranks of `parent` that give this color.
  void split_off(const Lane& parent, int color);
  /// Whether its communicator is there, and ready for the next call.
  [[nodiscard]] bool is_ready() const { return comm_ != nullptr && !nccl_.is_in_progress(comm_); }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] NcclComm comm() const { return comm_; }
  [[nodiscard]] CudaStream stream() const { return stream_.get(); }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int rank() const { return rank_; }

  /// What is issued to the lane from here on waits for what `stream` holds.
  void follow(CudaStream stream);
  /// The reduction with the operator that it has on this lane.
  [[nodiscard]] NcclReduction own(const NcclReduction& reduction);
  /// Memory of the device that the calls of the lane use one after the other.
  [[nodiscard]] std::byte* scratch(std::size_t bytes);
  /// Tells NCCL of the buffer, unless it knows it.
  void register_buffer(const Buffer& buffer);
  /// Begins to end the communicator.
  void finalize();

  /// Tells a thread that looks on: how many calls were issued, and the last one's kind.
  void note(et_schema::CommKind kind);
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] et_schema::CommKind last_kind() const { return last_kind_; }
  /// Hands the communicator to a thread that aborts it: nothing can be issued any more. Null where
  /// there is none, or where it was handed out.
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
  /// The last one is in use; freeing one would wait for the device.
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
